import type { OwnCount } from './own-units.ts';
import { type Hold, sliceName, type Spent, type WindowRecord } from './record.ts';
import type { WindowRules } from './rules.ts';
import type { Span } from './wall.ts';

export interface Count {
  /** Held by nobody. */
  readonly free: number;
  /** Not spent; what live replicas hold ahead is left, and may come back. */
  readonly left: number;
}

/** What a record leaves, in which the own hold is settled: the own units by their instants, the others' by the record. */
export function countOf({ spent, holds }: WindowRecord, own: OwnCount, now: Span, rules: WindowRules): Count {
  let left = rules.requestsMax - own.live;
  for (const { units } of ofOthers(spent, own)) left -= units;
  let free = left;
  for (const hold of Object.values(holds)) {
    free -= hold.units;
    if (!isLent(hold, now)) left -= hold.units;
  }
  return { free, left };
}

/** Without what this replica has told of its own, and knows better. */
export function ofOthers(spent: readonly Spent[], { byBucket }: OwnCount): readonly Spent[] {
  return spent
    .map(({ at, units }) => ({ at, units: units - (byBucket.get(at) ?? 0) }))
    .filter(({ units }) => units > 0);
}

/** Ahead, and its holder may yet return it. */
export const isLent = ({ slice, units, until }: Hold, now: Span): boolean => slice && units > 0 && now.earliest < until;

export interface Lent {
  readonly name: string;
  readonly units: number;
}

/** The slices that others hold, the largest first. */
export const lentSlices = ({ holds }: WindowRecord, now: Span): readonly Lent[] =>
  Object.entries(holds)
    .filter(([, hold]) => isLent(hold, now))
    .map(([replicaId, { nonce, units }]) => ({ name: sliceName(replicaId, nonce), units }))
    .sort((one, other) => other.units - one.units);
