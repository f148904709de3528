/* Numbers, times and money as people read them. */

/** Makes a formatter when it is first used, and once: it loads the tables of a language, which takes a page's time. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

const whole = once(() => new Intl.NumberFormat('en'));
const share = once(() => new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 0 }));
const instant = once(() => new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'long', hourCycle: 'h23' }));
const MOMENT = {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'short',
} as const;
const moment = once(() => new Intl.DateTimeFormat('en', MOMENT));
const datedMoment = once(() => new Intl.DateTimeFormat('en', { ...MOMENT, year: 'numeric' }));
const hour = once(() => new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }));
const day = once(() => new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' }));
const monthName = once(() => new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' }));
const relative = once(() => new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' }));

export const formatCount = (value: number): string => whole().format(value);
/** In the zone of the browser, which it names. */
export const formatInstant = (at: string | number): string => instant().format(new Date(at));
/** A span of time in the zone of the browser, which it names. */
export const formatSpan = (from: number, to: number): string => datedMoment().formatRange(from, to);

/** A tick of a chart's axis: the hour, and at midnight the day. */
export function formatTick(at: number): string {
  const date = new Date(at);
  return (date.getHours() === 0 && date.getMinutes() === 0 ? day() : hour()).format(date);
}

/** The zone in which the browser shows and takes times, such as `Europe/Berlin`. */
export const zoneHere = (): string => instant().resolvedOptions().timeZone;
/** The same without seconds, and without the year where it is the present one. */
export function formatMoment(at: string | number, now: number): string {
  const date = new Date(at);
  const isThisYear = date.getFullYear() === new Date(now).getFullYear();
  return (isThisYear ? moment() : datedMoment()).format(date);
}
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

/** A length of time in the largest unit of which it has whole ones, such as `1 day`. */
export function formatDuration(seconds: number): string {
  const [size, unit] = STEPS.find(([one]) => seconds % one === 0) ?? [1, 'second'];
  return new Intl.NumberFormat('en', { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / size);
}

/** An amount in minor units of a currency. */
export function formatAmount(minor: number, currency: string): string {
  const { maximumFractionDigits: digits = 2 } = money(currency).resolvedOptions();
  return money(currency).format(minor / 10 ** digits);
}

const money = (currency: string, digits?: number): Intl.NumberFormat =>
  new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
    ...(digits !== undefined && { minimumFractionDigits: digits, maximumFractionDigits: digits }),
  });

/** A price such as `0.0375`, with every digit that it has. */
export function formatPrice(price: string, currency: string): string {
  const { maximumFractionDigits: usual = 2 } = money(currency).resolvedOptions();
  const [, fraction = ''] = price.split('.');
  return money(currency, Math.max(usual, Math.min(fraction.length, 20))).format(Number(price));
}

/** A month such as `2026-01` in words. */
export function formatMonth(month: string): string {
  return monthName().format(new Date(`${month}-01T00:00:00Z`));
}

const characters = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The characters of a text as people count them: each with its marks. */
export const charactersOf = (text: string): readonly string[] =>
  Array.from(characters.segment(text), ({ segment }) => segment);
