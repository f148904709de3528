import type { Entry, Store } from '../../store/port.ts';
import { HOUR_MS, startOfDay } from '../../time/utc-days.ts';
import { LIMITS } from '../limits.ts';
import { BadRecord, parseRecord } from '../records/codec.ts';
import type { FleetDayRecord } from '../records/account-records.ts';
import { KEYS } from '../records/keys.ts';
import { dayNumberOf, firstHourOf } from './days.ts';

/** The time that a series covers. */
export const FLEET_RANGES = ['24h', '7d', '90d'] as const;
export type FleetRange = (typeof FLEET_RANGES)[number];

/** The hours of a range, and of a point: no range has more points than an answer may have. */
const HOURS: Readonly<Record<FleetRange, { readonly hours: number; readonly step: number }>> = {
  '24h': { hours: 24, step: 1 },
  '7d': { hours: 7 * 24, step: 1 },
  '90d': { hours: LIMITS.fleetHistoryDays * 24, step: 6 },
};

/** The fleet of an account in an hour, or the worst of several: the fewest active, the most silent and failed ones. */
interface FleetPoint {
  /** The beginning, in milliseconds since 1970. */
  readonly at: number;
  readonly active: number;
  readonly silent: number;
  readonly failed: number;
}

/** The points of a range. An hour in which nothing was counted is in none; a step without a counted hour has none. */
export interface FleetSeries {
  readonly from: number;
  /** Exclusive: the end of the step that lasts. */
  readonly to: number;
  readonly stepMs: number;
  readonly points: readonly FleetPoint[];
}

/**
 * Reads the history of an account: the records of the days in the range, at most 90. One that cannot be read is a gap.
 * @param now on the wall clock, in milliseconds since 1970
 * @throws StoreUnavailable
 */
export async function readFleetSeries(
  store: Pick<Store, 'get' | 'list'>,
  accountId: string,
  range: FleetRange,
  now: number,
): Promise<FleetSeries> {
  const entries = await readDays(store, accountId, hoursOf(range, now));
  return fleetSeries(
    entries.flatMap((entry) => parsed(entry) ?? []),
    range,
    now,
  );
}

/** So many days are read one by one, all at once; more are read as one list of all that there are. */
const DAYS_SINGLY_MAX = 8;

async function readDays(
  store: Pick<Store, 'get' | 'list'>,
  accountId: string,
  { begin, lastHour }: HoursOfRange,
): Promise<readonly Entry[]> {
  const first = dayNumberOf(begin);
  const days = dayNumberOf(lastHour) - first + 1;
  if (days > DAYS_SINGLY_MAX) {
    return (await store.list({ prefix: KEYS.fleetDay.under(accountId), limit: LIMITS.fleetHistoryDays })).entries;
  }
  const keys = Array.from({ length: days }, (_, index) => KEYS.fleetDay(accountId, first + index));
  return (await Promise.all(keys.map((key) => store.get(key)))).filter((entry) => entry !== undefined);
}

/** In hours since 1970. */
interface HoursOfRange {
  readonly begin: number;
  /** The one that lasts. */
  readonly lastHour: number;
  /** Exclusive: the end of the step that lasts. */
  readonly end: number;
}

function hoursOf(range: FleetRange, now: number): HoursOfRange {
  const { hours, step } = HOURS[range];
  const lastHour = Math.floor(now / HOUR_MS);
  const end = (Math.floor(lastHour / step) + 1) * step;
  // The oldest day that is kept: the one before it had the slot of today.
  const oldest = firstHourOf(dayNumberOf(lastHour) - LIMITS.fleetHistoryDays + 1);
  return { begin: Math.max(end - hours, oldest), lastHour, end };
}

function parsed(entry: Entry): FleetDayRecord | undefined {
  try {
    return parseRecord(KEYS.fleetDay, entry).record;
  } catch (error) {
    if (error instanceof BadRecord) return undefined;
    throw error;
  }
}

/** The points of the records that lie in the range, in order. */
export function fleetSeries(days: readonly FleetDayRecord[], range: FleetRange, now: number): FleetSeries {
  const { step } = HOURS[range];
  const { begin, lastHour, end } = hoursOf(range, now);
  const points = new Map<number, FleetPoint>();
  for (const [hour, active, silent, failed] of countedHours(days)) {
    if (hour < begin || hour > lastHour) continue;
    const at = (hour - (hour % step)) * HOUR_MS;
    const other = points.get(at);
    points.set(at, {
      at,
      active: Math.min(active, other?.active ?? active),
      silent: Math.max(silent, other?.silent ?? silent),
      failed: Math.max(failed, other?.failed ?? failed),
    });
  }
  return {
    from: begin * HOUR_MS,
    to: end * HOUR_MS,
    stepMs: step * HOUR_MS,
    points: [...points.values()].sort((a, b) => a.at - b.at),
  };
}

function* countedHours(
  days: readonly FleetDayRecord[],
): Generator<readonly [hour: number, active: number, silent: number, failed: number]> {
  for (const { day, hours } of days) {
    const first = startOfDay(day) / HOUR_MS;
    for (const [index, counts] of hours.entries()) if (counts) yield [first + index, counts[0], counts[1], counts[2]];
  }
}
