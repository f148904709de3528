import type { Allotted } from './count.ts';
import type { OwnLease } from './own-lease.ts';
import type { OwnCount } from './own-usage.ts';
import type { Lease, WindowRecord } from './record.ts';
import type { WindowRules } from './rules.ts';

/*
 * How large allotments are. A replica that commits for the second or third time within a minute got more requests than
 * it foresaw, and takes more: by three commits it takes 400 units, so that with the fourth no more than 200 are left.
 */

interface AllotmentHistory {
  readonly own: OwnCount;
  /** Commits of this replica for the account within the last minute. */
  readonly writes: number;
  /** The allotment before lasted for its whole time. */
  readonly isRenewal: boolean;
}

/** How many units an allotment should have, out of those that are free. */
export function desiredUnits(
  { own, writes, isRenewal }: AllotmentHistory,
  { leases }: WindowRecord,
  free: number,
  { firstMax, secondMin, allotmentMax, reserved }: WindowRules,
): number {
  if (writes >= 2) return allotmentMax;
  const predicted = Math.min(allotmentMax, Math.ceil(1.5 * own.recent));
  if (writes === 1 && !isRenewal) return Math.max(secondMin, predicted);
  const serving = Object.keys(leases).length + 1;
  const share = Math.min(firstMax, Math.floor(allotmentMax / serving));
  return Math.min(Math.max(share, predicted), Math.ceil(free * (1 - reserved)));
}

/** How many of the last free units a replica takes that shares the window with nobody: those that wait, at least. */
export function lastUnits(free: number, waiting: number, { reserved, allotmentMax }: WindowRules): number {
  return Math.min(allotmentMax, Math.max(waiting, Math.ceil(free * (1 - reserved))));
}

/** How many units a holder keeps of an allotment that others recall while there is much left. */
export function keptUnits({ units, spent }: OwnLease, own: OwnCount, { firstMax }: WindowRules): number {
  return Math.min(Math.floor((units - spent) / 2), Math.max(firstMax, own.recent));
}

/** The names of the first of these allotments, which come largest first, that have so many units together. */
export function enoughOf(allotted: readonly Allotted[], units: number): readonly string[] {
  const names: string[] = [];
  let sum = 0;
  for (const one of allotted) {
    if (sum >= units) break;
    sum += one.units;
    names.push(one.name);
  }
  return names;
}

/** The leases after so many free units were transferred to the allotments with a demand, the greatest demand first. */
export function transferred(leases: WindowRecord['leases'], units: number, now: number): WindowRecord['leases'] {
  const all: Record<string, Lease> = { ...leases };
  let rest = units;
  const receivers = Object.entries(leases).filter(([, { isAllotment, until }]) => isAllotment && now < until);
  for (const [replicaId, lease] of receivers.sort(([, one], [, other]) => (other.demand ?? 0) - (one.demand ?? 0))) {
    const demand = lease.demand ?? 0;
    const transfer = Math.min(rest, demand);
    rest -= transfer;
    if (transfer > 0) all[replicaId] = { ...lease, units: lease.units + transfer, demand: demand - transfer };
  }
  return all;
}
