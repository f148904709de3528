import { expectAsFound, type Expectation, type Write } from '../../store/port.ts';
import { DAY_MS, dayAt, endOfDay, startOfDay } from '../../time/utc-days.ts';
import { put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { DayRecord } from '../records/metering-records.ts';

/** The day (`YYYY-MM-DD`) that lies this many days before, or after where the number is negative. */
export const daysBefore = (day: string, days: number): string => dayAt(startOfDay(day) - days * DAY_MS);
/** The day after this one (`YYYY-MM-DD`). */
export const dayAfter = (day: string): string => dayAt(endOfDay(day));

/** The day that a change belongs to, its instant within that day, and what its commit must expect and write for it. */
export interface DayStamp {
  readonly day: string;
  readonly at: number;
  readonly expect: Expectation;
  /** Moves the day on; empty unless this change is the first one of its day. */
  readonly write: readonly Write[];
}

/**
 * M1: the day record decides whether a change is before or after a midnight. Every change that counts expects it: once
 * it has moved on, none can be stamped with the day before, however long its commit was under way. The first change by
 * a trusted clock that is in the next day moves it on, also the creation of an app. A clock that is behind, or not
 * trusted, stamps within the record's day.
 * @param at the instant of the request, by this replica's clock, in milliseconds since 1970
 * @param trusted whether that instant may end a day
 */
export function stampDay(current: Versioned<DayRecord> | undefined, at: number, trusted: boolean): DayStamp {
  const expect = expectAsFound(KEYS.day(), current);
  const today = dayAt(at);
  if (!current) return { day: today, at, expect, write: [put(KEYS.day(), { day: today, since: today })] };
  const { record } = current;
  if (trusted && today > record.day) {
    return { day: today, at, expect, write: [put(KEYS.day(), { ...record, day: today })] };
  }
  const within = Math.min(Math.max(at, startOfDay(record.day)), endOfDay(record.day) - 1);
  return { day: record.day, at: within, expect, write: [] };
}
