import type { Span } from './clock-interval.ts';
import type { OwnCount } from './own-usage.ts';
import { sliceName, type Spent, type WindowRecord } from './record.ts';
import type { WindowRules } from './rules.ts';
import type { Situation } from './situation.ts';

const CHARGING_LATELY_MS = 500;

export interface Count {
  /** Held by nobody. */
  readonly free: number;
  /** Not spent; the slices of others are left, too, and may come back. */
  readonly left: number;
  /** These, the largest first. */
  readonly lent: readonly Lent[];
}

export interface Lent {
  readonly name: string;
  readonly units: number;
}

/**
 * What a record leaves, in which the own hold is settled: the own units by their instants, the others' by the record. A
 * slice is lent even when it has ended: a holder that lives may yet tell what it did not spend of it.
 */
export function countOf(
  { spent, holds }: WindowRecord,
  { own, asked, monotonic }: Pick<Situation, 'own' | 'asked' | 'monotonic'>,
  rules: WindowRules,
): Count {
  let unspent = rules.requestsMax - own.live;
  for (const { units } of ofOthers(spent, own)) unspent -= units;
  let [held, gone] = [0, 0];
  const lent: Lent[] = [];
  for (const [replicaId, { nonce, units, slice }] of Object.entries(holds)) {
    const name = sliceName(replicaId, nonce);
    held += units;
    // A holder that did not answer in time has spent it all.
    if (!slice || monotonic >= (asked.get(name) ?? Number.POSITIVE_INFINITY)) gone += units;
    else if (units > 0) lent.push({ name, units });
  }
  return { free: unspent - held, left: unspent - gone, lent: lent.sort((one, other) => other.units - one.units) };
}

/** Without what this replica has told of its own, and knows better. */
export function ofOthers(spent: readonly Spent[], { byBucket }: OwnCount): readonly Spent[] {
  return spent
    .map(({ at, units }) => ({ at, units: units - (byBucket.get(at) ?? 0) }))
    .filter(({ units }) => units > 0);
}

/** How many others charged what waited there about a second ago, or less. */
export const chargingLately = ({ holds }: WindowRecord, replicaId: string, now: Span): number =>
  Object.entries(holds).filter(
    ([id, { slice, until }]) => id !== replicaId && !slice && now.latest < until + CHARGING_LATELY_MS,
  ).length;
