/* Numbers, times and money as people read them. */

/** Makes a formatter when it is first used, and once: it loads the tables of a language, which takes a page's time. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

const whole = once(() => new Intl.NumberFormat('en'));
const share = once(() => new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 0 }));
const instant = once(() => new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'long', hourCycle: 'h23' }));
const monthName = once(() => new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' }));
const relative = once(() => new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' }));

export const formatCount = (value: number): string => whole().format(value);
/** In the zone of the browser, which it names. */
export const formatInstant = (at: string | number): string => instant().format(new Date(at));
export const formatShare = (part: number): string => share().format(part);

const STEPS: readonly (readonly [seconds: number, unit: Intl.RelativeTimeFormatUnit])[] = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
];

/** Such as `3 minutes ago`; a difference of a few seconds, which the clock of the browser may have, is `just now`. */
export function formatAge(at: string | number, now: number): string {
  const seconds = (new Date(at).getTime() - now) / 1000;
  if (Math.abs(seconds) < 45) return 'just now';
  for (const [size, unit] of STEPS) {
    if (Math.abs(seconds) >= size * 0.95) return relative().format(Math.round(seconds / size), unit);
  }
  return relative().format(Math.round(seconds / 60), 'minute');
}

/** An amount in minor units of a currency. */
export function formatAmount(minor: number, currency: string): string {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  return format.format(minor / 10 ** digits);
}

/** A month such as `2026-01` in words. */
export function formatMonth(month: string): string {
  return monthName().format(new Date(`${month}-01T00:00:00Z`));
}
