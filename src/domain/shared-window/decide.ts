import { type OwnPart, settled, usableUnits } from './own-hold.ts';
import { type Hold, pruned, sliceName, type WindowRecord, withoutFuture } from './record.ts';
import type { WindowRules } from './rules.ts';
import type { Span } from './wall.ts';

export interface Situation {
  readonly record: WindowRecord;
  readonly replicaId: string;
  readonly part: OwnPart;
  readonly now: Span;
  /** Requests that wait; 0 when only the own hold is to be settled. */
  readonly demand: number;
  /** Others' slices that were asked for, with the instant from which no answer is expected any more. */
  readonly asked: ReadonlyMap<string, number>;
  /** A hold that is settled is not taken anew. */
  readonly giveBack: boolean;
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
  | { readonly act: 'commit'; readonly record: WindowRecord; readonly take: Taking; readonly asks: readonly string[] }
  /** Others may return something until this instant. */
  | { readonly act: 'wait'; readonly until: number }
  | { readonly act: 'refuse' };

/** What is to be done next for an account on this replica: a pure function, so that it can be simulated. */
export function decide(situation: Situation, rules: WindowRules): Decision {
  const { part, now, demand, replicaId } = situation;
  const { hold } = part;
  const usable = usableUnits(part, now);
  if (demand > 0 && usable > 0) return { act: 'serve', units: Math.min(usable, demand) };

  const sound = withoutFuture(situation.record, now, rules);
  const record = pruned(settled(sound, replicaId, hold), now, rules);
  const { free, left } = countOf(record, now, rules);
  const commit = commitOf(situation, record, rules);
  const slices = left > rules.sliceAboveLeft && !situation.giveBack;
  const slice = sliceUnits(situation, record, free, rules);
  if (demand === 0) return slices && (hold?.spent ?? 0) > 0 ? commit(slice, true) : commit(0, false);
  const charged = Math.min(demand, rules.sliceMax);
  if (free >= charged) return slices ? commit(Math.max(charged, slice), true) : commit(charged, false);
  return chargeWithOthers(situation, { record, free, commit, hurries: !slices, mended: sound !== situation.record });
}

interface Lacking {
  readonly record: WindowRecord;
  readonly free: number;
  readonly commit: ReturnType<typeof commitOf>;
  /** Few are left: all slices are asked for at once. */
  readonly hurries: boolean;
  readonly mended: boolean;
}

/** There is less than the demand: what others hold ahead is asked back, once; what does not come counts as spent. */
function chargeWithOthers({ asked, now }: Situation, { record, free, commit, hurries, mended }: Lacking): Decision {
  const lent = lentSlices(record, now);
  const answersBy = Math.max(0, ...lent.map((name) => asked.get(name) ?? 0));
  const asks = lent.filter((name) => !asked.has(name));
  if (asks.length > 0 && (hurries || now.latest >= answersBy)) {
    return commit(free, false, hurries ? asks : asks.slice(0, 1));
  }
  if (now.latest < answersBy) return { act: 'wait', until: answersBy };
  // A record from a wrong clock is put right once, or it would refuse for as long as that clock was ahead.
  return free > 0 || mended ? commit(free, false) : { act: 'refuse' };
}

type Commit = Extract<Decision, { act: 'commit' }>;

const commitOf =
  ({ now, chargeMs }: Situation, record: WindowRecord, rules: WindowRules) =>
  (units: number, slice: boolean, asks: readonly string[] = []): Commit => {
    const [told, used] = slice ? [rules.sliceToldMs, rules.sliceUsedMs] : [chargeMs, chargeMs];
    const take = {
      units: Math.max(0, units),
      slice,
      until: Math.ceil(now.latest + told),
      usedUntil: now.latest + used,
    };
    const wanted = [...new Set([...record.wanted, ...asks])];
    return { act: 'commit', record: { ...record, wanted }, take, asks };
  };

/** `free`: held by nobody. `left`: not spent; what live replicas hold ahead is left, and may come back. */
function countOf(record: WindowRecord, now: Span, rules: WindowRules): { free: number; left: number } {
  let left = rules.requestsMax;
  for (const { units } of record.spent) left -= units;
  let free = left;
  for (const hold of Object.values(record.holds)) {
    free -= hold.units;
    if (!isLent(hold, now)) left -= hold.units;
  }
  return { free, left };
}

const isLent = ({ slice, units, until }: Hold, now: Span): boolean => slice && units > 0 && now.earliest < until;

/** The largest first. */
const lentSlices = ({ holds }: WindowRecord, now: Span): readonly string[] =>
  Object.entries(holds)
    .filter(([, hold]) => isLent(hold, now))
    .sort(([, one], [, other]) => other.units - one.units)
    .map(([replicaId, { nonce }]) => sliceName(replicaId, nonce));

/** Enough for a while at the pace of before, without one a share; half of what is free is left to the others. */
function sliceUnits(
  { part: { hold }, now }: Situation,
  record: WindowRecord,
  free: number,
  rules: WindowRules,
): number {
  const serving = Object.keys(record.holds).length + 1;
  const share = Math.min(rules.shareMax, Math.floor(rules.sliceMax / serving));
  const perMs = hold ? hold.spent / Math.max(1000, now.latest - hold.takenAt) : 0;
  const needed = Math.min(rules.sliceMax, Math.max(share, Math.ceil(perMs * rules.sliceForMs)));
  return Math.min(needed, serving > 1 ? Math.ceil(free / 2) : free);
}

export interface Outlook {
  /** Not spent and not held by others, as far as is known here; what was admitted from the own hold is to be taken off. */
  readonly left: number;
  /** When the next unit counts no more; infinite when nothing counts. */
  readonly freesAt: number;
}

/** What the window's answers say of it; holds until `freesAt`, or until the record changes. */
export function outlookOf(known: WindowRecord, replicaId: string, now: Span, rules: WindowRules): Outlook {
  const { [replicaId]: _mine, ...holds } = known.holds;
  const record = pruned({ ...known, holds }, now, rules);
  const ends = Object.values(record.holds)
    .filter(({ units }) => units > 0)
    .map(({ until }) => until + rules.endedCountsMs);
  const [oldest] = record.spent;
  if (oldest) ends.push(oldest.at + rules.bucketCountsMs);
  return { left: countOf(record, now, rules).free, freesAt: Math.min(...ends) };
}
