import { DAY_MS } from './utc-days.ts';

const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.(\d{1,30}))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/;
const MINUTE_MS = 60_000;
const YEAR_0 = Date.parse('0000-01-01T00:00:00Z');
const YEAR_10000 = Date.UTC(10_000, 0);

/**
 * Reads a date-time of RFC 3339 (its `date-time`), as a client of any language writes it: with every offset, `t` and
 * `z` too, a fraction of any length, and second 60 at the end of a UTC day, which is the first of the next one.
 * @returns whole milliseconds since 1970; undefined for anything else
 */
export function instantOf(text: string): number | undefined {
  const [, year, month, day, hour, minute, second, fraction = '', sign, offsetHours, offsetMinutes] =
    DATE_TIME.exec(text) ?? [];
  if (second === undefined) return undefined;
  const date = `${year}-${month}-${day}`;
  const midnight = Date.parse(`${date}T00:00:00.000Z`);
  // There is no 31st of February, which would pass for a day of March.
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(date)) return undefined;
  const ahead = sign === undefined ? 0 : Number(offsetHours) * 60 + Number(offsetMinutes);
  const minutes = Number(hour) * 60 + Number(minute) - (sign === '-' ? -ahead : ahead);
  const whole = midnight + minutes * MINUTE_MS + Number(second) * 1000;
  if (second === '60' && whole % DAY_MS !== 0) return undefined;
  const at = whole + Number(fraction.slice(0, 3).padEnd(3, '0'));
  // An offset may lead out of the years that a date-time can say, and the instant could not be told again.
  return at >= YEAR_0 && at < YEAR_10000 ? at : undefined;
}
