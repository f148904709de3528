import * as z from 'zod';
import { dayText } from './day-records.ts';

/* The records of metering (M1–M5). Days are UTC, written `YYYY-MM-DD`; instants are milliseconds since 1970. */

const instant = z.int().min(0);

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
export type MeteredRecord = z.infer<typeof meteredSchema>;

/** `prices`: as they were configured, oldest first; each holds from its instant on. */
export const pricesSchema = z.looseObject({
  entries: z.array(z.looseObject({ since: instant, price: z.string(), currency: z.string() })),
});
export type PricesRecord = z.infer<typeof pricesSchema>;
