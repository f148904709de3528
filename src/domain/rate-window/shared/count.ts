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
  { own, replicaId, recallDeadlines, now }: Pick<Situation, 'own' | 'replicaId' | 'recallDeadlines' | 'now'>,
  rules: WindowRules,
): Count {
  let unspent = rules.requestsMax - own.live;
  for (const { units } of ofOthers(spent, replicaId)) unspent -= units;
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

/** The spent units without those that this replica reported, which it counts itself and more exactly. */
export const ofOthers = (spent: readonly Spent[], replicaId: string): readonly Spent[] =>
  spent.filter(({ by }) => by !== replicaId);

/** How many other replicas charged their waiting requests about a second ago, or less. */
export const chargedRecently = ({ leases }: WindowRecord, replicaId: string, now: number): number =>
  Object.entries(leases).filter(
    ([id, { isAllotment, until }]) => id !== replicaId && !isAllotment && now < until + CHARGED_RECENTLY_MS,
  ).length;
