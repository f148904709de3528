import type { Span } from './clock-interval.ts';
import type { Lent } from './count.ts';
import type { OwnHold } from './own-hold.ts';
import type { OwnCount } from './own-usage.ts';
import type { Hold, WindowRecord } from './record.ts';
import type { WindowRules } from './rules.ts';

/*
 * How large slices are. A replica that commits for the second or third time within a minute was asked for more than it
 * foresaw, and takes more: what it takes by three commits is 400, so that with the fourth no more than 200 are left.
 */

export interface Wish {
  readonly own: OwnCount;
  /** Commits of this replica for the account within the last minute. */
  readonly writes: number;
  /** The slice before lasted for its time. */
  readonly renewed: boolean;
}

/** How much a slice should have, of what is free. */
export function wishedUnits(
  { own, writes, renewed }: Wish,
  { holds }: WindowRecord,
  free: number,
  { firstMax, secondMin, sliceMax, reserved }: WindowRules,
): number {
  if (writes >= 2) return sliceMax;
  const lately = Math.min(sliceMax, Math.ceil(1.5 * own.lately));
  if (writes === 1 && !renewed) return Math.max(secondMin, lately);
  const serving = Object.keys(holds).length + 1;
  const share = Math.min(firstMax, Math.floor(sliceMax / serving));
  return Math.min(Math.max(share, lately), Math.ceil(free * (1 - reserved)));
}

/** What a holder keeps of a slice that others ask for while there is much left. */
export function keptUnits({ units, spent }: OwnHold, own: OwnCount, { firstMax }: WindowRules): number {
  return Math.min(Math.floor((units - spent) / 2), Math.max(firstMax, own.lately));
}

/** The largest of these slices, until they have so many units. */
export function enoughOf(lent: readonly Lent[], units: number): readonly string[] {
  const names: string[] = [];
  let sum = 0;
  for (const one of lent) {
    if (sum >= units) break;
    sum += one.units;
    names.push(one.name);
  }
  return names;
}

/** The holds after so many free units were given to those who want some, first to whoever wants most. */
export function given(holds: WindowRecord['holds'], units: number, now: Span): WindowRecord['holds'] {
  const all: Record<string, Hold> = { ...holds };
  let rest = units;
  const wanting = Object.entries(holds).filter(([, { slice, until }]) => slice && now.latest < until);
  for (const [replicaId, hold] of wanting.sort(([, one], [, other]) => (other.wants ?? 0) - (one.wants ?? 0))) {
    const wants = hold.wants ?? 0;
    const gift = Math.min(rest, wants);
    rest -= gift;
    if (gift > 0) all[replicaId] = { ...hold, units: hold.units + gift, wants: wants - gift };
  }
  return all;
}
