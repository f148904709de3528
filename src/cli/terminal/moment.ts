import { DURATION_FORMS, durationWithin } from '../../time/duration.ts';
import { DURATION_MAX, reading } from './globals.ts';

/** An instant as a person writes it: so far from now, or a date. */
export type Moment = { readonly seconds: number } | { readonly at: number };

const DATE = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** Reads an option's instant: a duration as in `90d`, a UTC day as in `2026-03-01`, or an instant of ISO 8601. */
export const momentIn = reading<Moment>((text) => {
  const ms = durationWithin(text, '1s', DURATION_MAX);
  if (ms !== undefined) return { seconds: ms / 1000 };
  const [, day] = DATE.exec(text) ?? [];
  const at = Date.parse(text);
  return day === undefined || Number.isNaN(at) || !isDay(day) ? undefined : { at };
}, `It is a duration with its unit, such as ${DURATION_FORMS}, at most ${DURATION_MAX}; a day such as 2026-03-01; or an instant with its zone.`);

/** No 31st of February, which would pass for a day of March. */
function isDay(day: string): boolean {
  const at = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
}

/** @returns milliseconds since 1970 */
export const momentAfter = (moment: Moment, now: number): number =>
  'at' in moment ? moment.at : now + moment.seconds * 1000;

/** @returns milliseconds since 1970 */
export const momentBefore = (moment: Moment, now: number): number =>
  'at' in moment ? moment.at : now - moment.seconds * 1000;
