import { countOf, type Count } from './count.ts';
import { settled, usableUnits } from './own-hold.ts';
import { pruned, withoutFuture, type Hold, type WindowRecord } from './record.ts';
import type { WindowRules } from './rules.ts';
import type { Situation } from './situation.ts';
import { enoughOf, given, keptUnits, wishedUnits } from './slice-size.ts';

/** A hold to be put with a commit. */
export interface Taking extends Omit<Hold, 'nonce'> {
  readonly usedUntil: number;
}

export type Decision =
  /** So many of those that wait are admitted from the own hold. */
  | { readonly act: 'serve'; readonly units: number }
  /** The record to commit is this one, and in it the hold of this replica. */
  | {
      readonly act: 'commit';
      readonly record: WindowRecord;
      readonly take: Taking;
      /** So many of those that wait are refused when it has happened: there was nothing for them, nor anybody to ask. */
      readonly refuses: number;
      /** While more than 200 are left commits are to be few. */
      readonly isAmple: boolean;
    }
  /** Until this instant of the monotonic clock, others may return something, or it is their turn. */
  | { readonly act: 'wait'; readonly until: number; readonly for: 'answers' | 'turn' }
  | { readonly act: 'refuse' };

/** What is to be done next for an account on this replica: a pure function, so that it can be simulated. */
export function decide(situation: Situation, rules: WindowRules): Decision {
  const { part, now, demand, replicaId } = situation;
  const usable = usableUnits(part, now);
  if (demand > 0 && usable > 0) return { act: 'serve', units: Math.min(usable, demand) };

  const sound = withoutFuture(situation.record, now, rules);
  const record = pruned(settled(sound, replicaId, part.hold), now, rules);
  const count = countOf(record, situation, rules);
  const isAmple = count.left > rules.sliceAboveLeft && !situation.ends;
  const facts = { situation, record, rules, ...count, isAmple, mended: sound !== situation.record };
  // Only holders write while they are asked: were others to go on, a holder could meet one conflict after the other.
  const answersBy = Math.max(0, ...count.lent.map(({ name }) => situation.asked.get(name) ?? 0));
  if (demand === 0 || (situation.giveBack && answersBy > 0))
    return isAmple ? settle(facts) : commit(facts, { units: 0 });
  if (answersBy > 0) return { act: 'wait', until: answersBy, for: 'answers' };
  return isAmple ? takeSlice(facts) : charge(facts);
}

interface Facts extends Count {
  readonly situation: Situation;
  /** With the own hold settled. */
  readonly record: WindowRecord;
  readonly rules: WindowRules;
  readonly isAmple: boolean;
  /** A wrong clock's record was put right. */
  readonly mended: boolean;
}

type Commit = Extract<Decision, { act: 'commit' }>;

/** What was spent is told; a slice that was used is taken anew, what others want of it is given to them. */
function settle(facts: Facts): Commit {
  const { situation, record, rules } = facts;
  const { part, own, now, giveBack } = situation;
  const free = Math.max(0, facts.free);
  if (!part.hold || (part.hold.spent === 0 && !giveBack)) return commit(facts, { units: 0 });
  if (!giveBack) {
    const wished = wishedUnits({ ...situation, renewed: true }, record, free, rules);
    return commit(facts, { units: Math.min(free, wished), slice: true });
  }
  const kept = Math.min(free, keptUnits(part.hold, own, rules));
  const holds = given(record.holds, free - kept, now);
  return commit({ ...facts, record: { ...record, holds } }, { units: kept, slice: kept > 0 });
}

/** Much is left: a slice, and where that is scant, more from those who hold most. */
function takeSlice(facts: Facts): Decision {
  const { situation, rules, mended, record, lent } = facts;
  const free = Math.max(0, facts.free);
  const charged = Math.min(situation.demand, rules.sliceMax);
  const units = Math.min(free, Math.max(charged, wishedUnits({ ...situation, renewed: false }, record, free, rules)));
  const lacking = Math.max(0, charged - units);
  const asks = enoughOf(lent, lacking > 0 ? 2 * lacking : Number(units < rules.scantMax));
  if (asks.length > 0) return commit(facts, { units, slice: true, asks, wants: rules.sliceMax - units });
  if (lacking === 0) return commit(facts, { units, slice: true });
  return units > 0 || mended ? commit(facts, { units, refuses: situation.demand - units }) : { act: 'refuse' };
}

/** Little is left: those that wait are charged, and what others hold ahead is asked back. */
function charge(facts: Facts): Decision {
  const { situation, rules, mended, lent } = facts;
  const free = Math.max(0, facts.free);
  const charged = Math.min(situation.demand, rules.sliceMax);
  const asks = free < charged ? lent.map(({ name }) => name) : [];
  // A record from a wrong clock is put right once, or it would refuse for as long as that clock was ahead.
  if (free === 0 && asks.length === 0 && !mended) return { act: 'refuse' };
  if (situation.monotonic < situation.restsUntil && !situation.giveBack) {
    return { act: 'wait', until: situation.restsUntil, for: 'turn' };
  }
  const refuses = free < charged && asks.length === 0 ? situation.demand - free : 0;
  return commit(facts, { units: Math.min(free, charged), asks, refuses });
}

interface Put {
  readonly units: number;
  readonly slice?: boolean;
  readonly asks?: readonly string[];
  readonly wants?: number;
  readonly refuses?: number;
}

function commit(
  { situation: { now, chargeMs }, record, rules, isAmple }: Facts,
  { units, slice = false, asks = [], wants = 0, refuses = 0 }: Put,
): Commit {
  const [told, used] = slice ? [rules.sliceToldMs, rules.sliceUsedMs] : [chargeMs, chargeMs];
  const until = Math.ceil(now.latest + told);
  const take = { units, slice, until, usedUntil: now.latest + used, ...(wants > 0 && { wants }) };
  const wanted = [...new Set([...record.wanted, ...asks])];
  return { act: 'commit', record: { ...record, wanted }, take, refuses, isAmple };
}
