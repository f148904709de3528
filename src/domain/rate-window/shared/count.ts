import type { ClockInterval } from './clock-interval.ts';
import type { OwnCount } from './own-usage.ts';
import { leaseName, type Spent, type WindowRecord } from './record.ts';
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
  { own, recallDeadlines, monotonic }: Pick<Situation, 'own' | 'recallDeadlines' | 'monotonic'>,
  rules: WindowRules,
): Count {
  let unspent = rules.requestsMax - own.live;
  for (const { units } of ofOthers(spent, own)) unspent -= units;
  let [leased, gone] = [0, 0];
  const allotted: Allotted[] = [];
  for (const [replicaId, { nonce, units, isAllotment }] of Object.entries(leases)) {
    const name = leaseName(replicaId, nonce);
    leased += units;
    // A holder that did not answer in time counts as having spent all of it.
    if (!isAllotment || monotonic >= (recallDeadlines.get(name) ?? Number.POSITIVE_INFINITY)) gone += units;
    else if (units > 0) allotted.push({ name, units });
  }
  allotted.sort((one, other) => other.units - one.units);
  return { free: unspent - leased, left: unspent - gone, allotted };
}

/** The spent units without those that this replica reported, which it counts itself and more exactly. */
export function ofOthers(spent: readonly Spent[], { byBucket }: OwnCount): readonly Spent[] {
  return spent
    .map(({ at, units }) => ({ at, units: units - (byBucket.get(at) ?? 0) }))
    .filter(({ units }) => units > 0);
}

/** How many other replicas charged their waiting requests about a second ago, or less. */
export const chargedRecently = ({ leases }: WindowRecord, replicaId: string, now: ClockInterval): number =>
  Object.entries(leases).filter(
    ([id, { isAllotment, until }]) => id !== replicaId && !isAllotment && now.latest < until + CHARGED_RECENTLY_MS,
  ).length;
