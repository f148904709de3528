import { countOf, lentSlices } from './count.ts';
import { type OwnPart, settled, usableUnits } from './own-hold.ts';
import type { OwnCount } from './own-units.ts';
import { type Hold, pruned, type WindowRecord, withoutFuture } from './record.ts';
import type { WindowRules } from './rules.ts';
import { enoughOf, given, keptUnits, wishedUnits } from './slices.ts';
import type { Span } from './wall.ts';

export interface Situation {
  readonly record: WindowRecord;
  readonly replicaId: string;
  readonly part: OwnPart;
  /** What this replica admitted, by its own memory. */
  readonly own: OwnCount;
  readonly now: Span;
  /** Requests that wait; 0 when only the own hold is to be settled. */
  readonly demand: number;
  /** Others' slices that were asked for, with the instant from which no answer is expected any more. */
  readonly asked: ReadonlyMap<string, number>;
  /** Others want what is held. */
  readonly giveBack: boolean;
  /** The replica stops: nothing is held ahead any more. */
  readonly ends: boolean;
  /** Commits of this replica for the account within the last minute, since when more than 200 are left. */
  readonly writes: number;
  /** How long a charge may take until it is answered. */
  readonly chargeMs: number;
}

/** A hold to be put with a commit. */
export interface Taking extends Omit<Hold, 'nonce'> {
  readonly usedUntil: number;
}

export type Decision =
  /** So many of those that wait are admitted from the own hold. */
  | { readonly act: 'serve'; readonly units: number }
  /** The record to commit is this one, and in it the hold of this replica; `asks` names slices that it wants back. */
  | {
      readonly act: 'commit';
      readonly record: WindowRecord;
      readonly take: Taking;
      readonly asks: readonly string[];
      /** While more than 200 are left commits are to be few. */
      readonly isAmple: boolean;
    }
  /** Others may return something until this instant. */
  | { readonly act: 'wait'; readonly until: number }
  | { readonly act: 'refuse' };

/** What is to be done next for an account on this replica: a pure function, so that it can be simulated. */
export function decide(situation: Situation, rules: WindowRules): Decision {
  const { part, now, demand, replicaId } = situation;
  const usable = usableUnits(part, now);
  if (demand > 0 && usable > 0) return { act: 'serve', units: Math.min(usable, demand) };

  const sound = withoutFuture(situation.record, now, rules);
  const record = pruned(settled(sound, replicaId, part.hold), now, rules);
  const { free, left } = countOf(record, situation.own, now, rules);
  const isAmple = left > rules.sliceAboveLeft && !situation.ends;
  const facts = { situation, record, rules, free, isAmple, mended: sound !== situation.record };
  if (demand === 0) return isAmple ? settle(facts) : commit(facts, 0, false);
  return isAmple ? takeSlice(facts) : charge(facts);
}

interface Facts {
  readonly situation: Situation;
  /** With the own hold settled. */
  readonly record: WindowRecord;
  readonly rules: WindowRules;
  readonly free: number;
  readonly isAmple: boolean;
  /** A wrong clock's record was put right. */
  readonly mended: boolean;
}

type Commit = Extract<Decision, { act: 'commit' }>;

/** Nobody waits: what was spent is told; a slice that was used is taken anew, what others want of it is given to them. */
function settle(facts: Facts): Commit {
  const { situation, record, rules } = facts;
  const { part, own, now, giveBack } = situation;
  const free = Math.max(0, facts.free);
  if (!part.hold || (part.hold.spent === 0 && !giveBack)) return commit(facts, 0, false);
  if (!giveBack) {
    return commit(facts, Math.min(free, wishedUnits({ ...situation, renewed: true }, record, free, rules)), true);
  }
  const kept = Math.min(free, keptUnits(part.hold, own, rules));
  const holds = given(record.holds, free - kept, now);
  return commit({ ...facts, record: { ...record, holds } }, kept, kept > 0);
}

/** Much is left: a slice, and where that is scant, more from those who hold most. */
function takeSlice(facts: Facts): Decision {
  const { situation, record, rules, mended } = facts;
  const { demand, now, asked } = situation;
  const free = Math.max(0, facts.free);
  const charged = Math.min(demand, rules.sliceMax);
  const units = Math.min(free, Math.max(charged, wishedUnits({ ...situation, renewed: false }, record, free, rules)));
  const isEnough = units >= charged;
  const lent = lentSlices(record, now);
  const answersBy = Math.max(0, ...lent.map(({ name }) => asked.get(name) ?? 0));
  if (!isEnough && now.latest < answersBy) return { act: 'wait', until: answersBy };
  const others = lent.filter(({ name }) => !asked.has(name));
  const asks = enoughOf(others, isEnough ? Number(units < rules.scantMax) : 2 * (charged - units));
  // In the hand of a holder that is late, they count as spent.
  if (!isEnough && asks.length === 0) return units > 0 || mended ? commit(facts, units, false) : { act: 'refuse' };
  return commit(facts, units, true, asks, asks.length > 0 ? rules.sliceMax - units : 0);
}

/** Little is left: those that wait are charged, and what others hold ahead is asked back, once. */
function charge(facts: Facts): Decision {
  const { situation, record, rules, free, mended } = facts;
  const { demand, now, asked } = situation;
  const charged = Math.min(demand, rules.sliceMax);
  if (free >= charged) return commit(facts, charged, false);
  const lent = lentSlices(record, now).map(({ name }) => name);
  const asks = lent.filter((name) => !asked.has(name));
  if (asks.length > 0) return commit(facts, free, false, asks);
  // What does not come counts as spent.
  const answersBy = Math.max(0, ...lent.map((name) => asked.get(name) ?? 0));
  if (now.latest < answersBy) return { act: 'wait', until: answersBy };
  // A record from a wrong clock is put right once, or it would refuse for as long as that clock was ahead.
  return free > 0 || mended ? commit(facts, free, false) : { act: 'refuse' };
}

function commit(
  { situation: { now, chargeMs }, record, rules, isAmple }: Facts,
  units: number,
  slice: boolean,
  asks: readonly string[] = [],
  wants = 0,
): Commit {
  const [told, used] = slice ? [rules.sliceToldMs, rules.sliceUsedMs] : [chargeMs, chargeMs];
  const take = {
    units: Math.max(0, units),
    slice,
    until: Math.ceil(now.latest + told),
    usedUntil: now.latest + used,
    ...(wants > 0 && { wants }),
  };
  const wanted = [...new Set([...record.wanted, ...asks])];
  return { act: 'commit', record: { ...record, wanted }, take, asks, isAmple };
}
