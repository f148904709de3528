import { DAY_MS } from '../../time/utc-days.ts';

/*
 * The calls of a key by UTC day, for the days that are told: today and the six before it. A day is a number, counted
 * from the first of January 1970.
 */

/** The days that are told. */
const DAYS = 7;

/** The calls by day. */
export type DailyCalls = ReadonlyMap<number, number>;
export const NO_CALLS: DailyCalls = new Map();

/** The calls as records hold them: the newest day, its calls, and those of each day before it. */
export type StoredCalls = [day: number, calls: number[]];

export const dayNumberAt = (at: number): number => Math.floor(at / DAY_MS);

/** Gives the sum of both by day. */
export function sumOf(one: DailyCalls, other: DailyCalls): DailyCalls {
  if (other.size === 0) return one;
  const sum = new Map(one);
  for (const [day, calls] of other) sum.set(day, calls + (sum.get(day) ?? 0));
  return sum;
}

/**
 * Tells whether a day counts. The day after today does: the clock of another replica may be ahead. One that is later
 * is of a clock that cannot be right.
 */
const isTold = (day: number, today: number): boolean => day > today - DAYS && day <= today + 1;

/** The calls of the last seven days. */
export function callsUntil(calls: DailyCalls, today: number): number {
  let sum = 0;
  for (const [day, count] of calls) if (isTold(day, today)) sum += count;
  return sum;
}

/** The part that a record keeps; undefined where no day counts any more. */
export function toStored(calls: DailyCalls, today: number): StoredCalls | undefined {
  const days = [...calls.keys()].filter((day) => isTold(day, today));
  if (days.length === 0) return undefined;
  const [first, last] = [Math.min(...days), Math.max(...days)];
  return [last, Array.from({ length: last - first + 1 }, (_, before) => calls.get(last - before) ?? 0)];
}

export const fromStored = ([day, calls]: StoredCalls): DailyCalls =>
  new Map(calls.map((count, before) => [day - before, count]));
