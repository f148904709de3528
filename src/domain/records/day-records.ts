import * as z from 'zod';

/*
 * The records from which a metered day is counted (M1, M3). Days are UTC, written `YYYY-MM-DD`; instants are
 * milliseconds since 1970.
 */

export const dayText = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
const instant = z.int().min(0);

/**
 * `d/day`: every change of a status expects it, so that a night is closed once it has moved on. `since` is the day from
 * which on changes are recorded: the first night that can be metered.
 */
export const daySchema = z.looseObject({ day: dayText, since: dayText });
export type DayRecord = z.infer<typeof daySchema>;

/**
 * `life/…`: what an app was before its first and after its last change of that day; for an account, whether it was
 * disabled. `none` is an app that does not exist.
 */
export const statusChangeSchema = z.looseObject({
  before: z.enum(['none', 'pending', 'active', 'revoked']),
  after: z.enum(['none', 'pending', 'active', 'revoked']),
  at: instant,
});
export type StatusChangeRecord = z.infer<typeof statusChangeSchema>;
export const accountStatusChangeSchema = z.looseObject({ before: z.boolean(), after: z.boolean(), at: instant });
export type AccountStatusChangeRecord = z.infer<typeof accountStatusChangeSchema>;
