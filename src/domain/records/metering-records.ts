import * as z from 'zod';
import { record, type RecordOf } from './registry.ts';
import { dayText, instant } from './shapes.ts';

/* The records of metering (M1–M5). Days are UTC, written `YYYY-MM-DD`; instants are milliseconds since 1970. */

export const meteringRecords = {
  /**
   * Every change of a status expects it, so that a night is closed once it has moved on. `since` is the day from
   * which on changes are recorded: the first night that can be metered.
   */
  day: record('d/day', {
    schema: z.looseObject({ day: dayText, since: dayText }),
    writeClass: 'upkeep',
    backup: 'kept',
    holds: 'the day that stamps changes of status; a night is metered after it has moved on',
  }),
  /**
   * The status of an app before its first and after its last change of that day. `none` is an app that does not exist.
   */
  statusChange: record('life/<day>/<accountId>/<appId>', {
    schema: z.looseObject({
      before: z.enum(['none', 'pending', 'active', 'revoked']),
      after: z.enum(['none', 'pending', 'active', 'revoked']),
      at: instant,
    }),
    writeClass: 'by commit',
    backup: 'kept',
    outlives: 'a night can be metered again when its apps are gone (M3)',
    holds: "an app's status before and after a day on which it changed",
  }),
  accountStatusChange: record('life/<day>/<accountId>', {
    schema: z.looseObject({ before: z.boolean(), after: z.boolean(), at: instant }),
    writeClass: 'by commit',
    backup: 'kept',
    holds: "the same for the account's `disabled`",
  }),
  /** The key has the month (`YYYY-MM`) and the day of the month (`DD`). */
  ledger: record('ledger/<month>/<accountId>/<dayOfMonth>', {
    schema: z.looseObject({
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
    }),
    writeClass: 'upkeep',
    backup: 'kept',
    holds: 'active daemons of an account in a night; created once',
  }),
  /** Every account that existed has its record of this night and of all before it. */
  metered: record('metered', {
    schema: z.looseObject({ through: dayText }),
    writeClass: 'upkeep',
    backup: 'kept',
    holds: 'the last night that is metered for every account',
  }),
  /** The prices as they were configured, oldest first; each holds from its instant on. */
  prices: record('prices', {
    schema: z.looseObject({
      entries: z.array(z.looseObject({ since: instant, price: z.string(), currency: z.string() })),
    }),
    writeClass: 'upkeep',
    backup: 'kept',
    holds: 'prices and currencies, and the instants from which they hold',
  }),
};
export type LedgerRecord = RecordOf<typeof meteringRecords.ledger>;
export type MeteredRecord = RecordOf<typeof meteringRecords.metered>;
export type PricesRecord = RecordOf<typeof meteringRecords.prices>;
export type DayRecord = RecordOf<typeof meteringRecords.day>;
export type StatusChangeRecord = RecordOf<typeof meteringRecords.statusChange>;
export type AccountStatusChangeRecord = RecordOf<typeof meteringRecords.accountStatusChange>;
