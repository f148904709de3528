import type { OwnCount } from './own-usage.ts';
import { leaseName, OLDER, type Spent, type WindowRecord } from './record.ts';
import type { WindowRules } from './rules.ts';
import type { Situation } from './situation.ts';

const CHARGED_RECENTLY_MS = 500;

export interface Count {
  /** Units that are neither spent nor leased. */
  readonly free: number;
  /** Units that are not spent: the free ones, and the allotments of others, which may come back. */
  readonly left: number;
  /** The allotments of others, the largest first. */
  readonly allotted: readonly Allotted[];
}

/** An allotment of another replica. */
export interface Allotted {
  readonly name: string;
  readonly units: number;
}

/**
 * Counts what a record leaves. The own lease must be settled in it: own units count by their instants, those of others
 * by the record. An allotment counts as allotted even when it has ended: a holder that lives may still report what it
 * did not spend of it.
 */
export function countOf(
  { spent, leases }: WindowRecord,
  { own, replicaId, recallDeadlines, now }: Pick<Situation, 'own' | 'replicaId' | 'recallDeadlines' | 'now'>,
  rules: WindowRules,
): Count {
  let unspent = rules.requestsMax - own.live;
  for (const { units } of ofOthers(spent, replicaId, own)) unspent -= units;
  let [leased, gone] = [0, 0];
  const allotted: Allotted[] = [];
  for (const [holder, { nonce, units, isAllotment }] of Object.entries(leases)) {
    const name = leaseName(holder, nonce);
    leased += units;
    // A holder that did not answer in time counts as having spent all of it.
    if (!isAllotment || now >= (recallDeadlines.get(name) ?? Number.POSITIVE_INFINITY)) gone += units;
    else if (units > 0) allotted.push({ name, units });
  }
  allotted.sort((one, other) => other.units - one.units);
  return { free: unspent - leased, left: unspent - gone, allotted };
}

/**
 * The spent units without those that this replica reported, which it counts itself and more exactly. An older version
 * wrote the units of all replicas together: there its own ones are found by their buckets.
 */
export function ofOthers(
  spent: readonly Spent[],
  replicaId: string,
  { byBucket }: Pick<OwnCount, 'byBucket'>,
): readonly Spent[] {
  const others = spent.filter(({ by }) => by !== replicaId);
  if (!others.some(({ by }) => by === OLDER)) return others;
  const owned = new Map(byBucket);
  for (const { by, bucket, units } of spent) {
    if (by === replicaId) owned.set(bucket, Math.max(0, (owned.get(bucket) ?? 0) - units));
  }
  return others
    .map((one) => (one.by === OLDER ? { ...one, units: one.units - (owned.get(one.bucket) ?? 0) } : one))
    .filter(({ units }) => units > 0);
}

/** How many other replicas charged their waiting requests about a second ago, or less. */
export const chargedRecently = ({ leases }: WindowRecord, replicaId: string, now: number): number =>
  Object.entries(leases).filter(
    ([id, { isAllotment, until }]) => id !== replicaId && !isAllotment && now < until + CHARGED_RECENTLY_MS,
  ).length;
