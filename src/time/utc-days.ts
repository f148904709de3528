/** UTC days (`YYYY-MM-DD`) and months (`YYYY-MM`) as text, which sorts as time does; instants are milliseconds. */

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** The day in which an instant lies. */
export const dayAt = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** The midnight that begins the day. */
export const startOfDay = (day: string): number => Date.parse(`${day}T00:00:00.000Z`);

/** The midnight that ends the day: what was changed before it counts for the day's night. */
export const endOfDay = (day: string): number => startOfDay(day) + DAY_MS;

/** The month in which a day lies. */
export const monthOf = (day: string): string => day.slice(0, 7);

/** The midnight that begins the month. */
export const startOfMonth = (month: string): number => startOfDay(`${month}-01`);

/** 28 to 31: a night for each day. */
export function nightsIn(month: string): number {
  const [year = 0, number = 0] = month.split('-').map(Number);
  // Day 0 of the next month is the last day of this one.
  return new Date(Date.UTC(year, number, 0)).getUTCDate();
}

/** The last day of the month. */
export const lastDayOf = (month: string): string => `${month}-${String(nightsIn(month)).padStart(2, '0')}`;
