import * as z from 'zod';

/* The records of metering (DECISIONS M1–M5). Days are UTC, written `YYYY-MM-DD`; instants are milliseconds since 1970. */

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
export type LifeRecord = z.infer<typeof statusChangeSchema>;
export const accountLifeSchema = z.looseObject({ before: z.boolean(), after: z.boolean(), at: instant });
export type AccountLifeRecord = z.infer<typeof accountLifeSchema>;

/** `ledger/…`: one account's night. Created once and never changed. */
export const ledgerSchema = z.looseObject({
  day: dayText,
  activeDaemons: z.int().min(0),
  /** SHA-256 over the sorted app ids, hex. */
  digest: z.string(),
  computedAt: instant,
  /** Metered more than an hour after its midnight. */
  late: z.boolean(),
  /** Per daemon and month at that midnight: a decimal with at most 6 digits after the point, and its currency. */
  price: z.string(),
  currency: z.string(),
});
export type LedgerRecord = z.infer<typeof ledgerSchema>;

/** `metered`: every account that existed has its record of this night and of all before it. */
export const meteredSchema = z.looseObject({ through: dayText });

/** `prices`: as they were configured, oldest first; each holds from its instant on. */
export const pricesSchema = z.looseObject({
  entries: z.array(z.looseObject({ since: instant, price: z.string(), currency: z.string() })),
});
export type PricesRecord = z.infer<typeof pricesSchema>;
