import { DURATION_FORMS, durationWithin } from '../../time/duration.ts';
import { instantOf } from '../../time/rfc3339.ts';
import { DURATION_MAX, reading } from './globals.ts';

/** An instant as a person writes it: so far from now, or a date. */
export type Moment = { readonly seconds: number } | { readonly at: number };

const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** People leave out the seconds. */
const WITHOUT_SECONDS = /T\d{2}:\d{2}(?=Z|[+-])/;

/** Reads an option's instant: a duration as in `90d`, a UTC day as in `2026-03-01`, or a date-time of RFC 3339. */
export const momentIn = reading<Moment>((text) => {
  const ms = durationWithin(text, '1s', DURATION_MAX);
  if (ms !== undefined) return { seconds: ms / 1000 };
  const at = instantOf(DAY.test(text) ? `${text}T00:00:00Z` : text.replace(WITHOUT_SECONDS, '$&:00'));
  return at === undefined ? undefined : { at };
}, `It is a duration with its unit, such as ${DURATION_FORMS}, at most ${DURATION_MAX}; a day such as 2026-03-01; or an instant with its zone.`);

/** @returns milliseconds since 1970 */
export const momentAfter = (moment: Moment, now: number): number =>
  'at' in moment ? moment.at : now + moment.seconds * 1000;

/** @returns milliseconds since 1970 */
export const momentBefore = (moment: Moment, now: number): number =>
  'at' in moment ? moment.at : now - moment.seconds * 1000;
