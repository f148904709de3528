import { DAY_MS } from './utc-days.ts';

/** The newest few: instants that are told together mostly lie on few days. */
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
 * ISO 8601, UTC, milliseconds, Z (H20), as `toISOString` has it, of which a list of 1000 apps needs 2000: the date is
 * looked up, and the time of day spelled in a seventh of the time.
 * @param at whole milliseconds since 1970
 */
export function dateTime(at: number): string {
  const day = Math.floor(at / DAY_MS);
  const ms = at - day * DAY_MS;
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  return `${dateOf(day)}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}:${two(seconds % 60)}.${three(ms % 1000)}Z`;
}
