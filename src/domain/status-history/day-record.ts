import { ABSENT, type Expectation, type Write } from '../../store/port.ts';
import { DAY_MS, dayAt, endOfDay, startOfDay } from '../../time/utc-days.ts';
import { put, type Versioned } from '../records/codec.ts';
import type { DayRecord } from '../records/day-records.ts';
import { KEYS } from '../records/keys.ts';

/** The day that lies so many days before or, where negative, after. */
export const daysBefore = (day: string, days: number): string => dayAt(startOfDay(day) - days * DAY_MS);
export const dayAfter = (day: string): string => dayAt(endOfDay(day));

/** The day that a change belongs to, its instant within it, and what its commit expects and writes for that. */
export interface DayStamp {
  readonly day: string;
  readonly at: number;
  readonly expect: Expectation;
  /** The day moved on: empty unless this change is the first one of its day. */
  readonly write: readonly Write[];
}

/**
 * M1: what decides whether a change is before or after a midnight is the day record, which every change expects: once it
 * has moved on, nothing can be stamped with the day before it, however long a commit was under way. The first trusted
 * clock that is in the next day moves it on. A clock that is behind, or not trusted, stamps within the record's day.
 * @param at the instant of the request, by this replica's clock
 * @param trusted whether that instant may end a day
 */
export function stampDay(current: Versioned<DayRecord> | undefined, at: number, trusted: boolean): DayStamp {
  const expect = { key: KEYS.day, revision: current?.revision ?? ABSENT };
  const today = dayAt(at);
  if (!current) return { day: today, at, expect, write: [put(KEYS.day, { day: today, since: today })] };
  const { record } = current;
  if (trusted && today > record.day) {
    return { day: today, at, expect, write: [put(KEYS.day, { ...record, day: today })] };
  }
  const within = Math.min(Math.max(at, startOfDay(record.day)), endOfDay(record.day) - 1);
  return { day: record.day, at: within, expect, write: [] };
}
