import { expectAsFound, type Expectation, type Store } from '../../store/port.ts';
import { DAY_MS, dayAt, endOfDay, monthOf, startOfDay, startOfMonth } from '../../time/utc-days.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { PricesRecord } from '../records/metering-records.ts';

/** The price of a daemon and month: a decimal of at most 6 digits after the point, and its currency (ISO 4217). */
export interface Price {
  readonly price: string;
  readonly currency: string;
}

type PriceEntry = PricesRecord['entries'][number];

/**
 * The most entries of the price record, once those that no night needs any more are pruned; more changes are refused.
 */
export const PRICE_ENTRIES_MAX = 1000;

/** The recorded prices, oldest first; no entries where nothing is recorded yet. @throws StoreUnavailable; BadRecord */
export async function readPrices(store: Store): Promise<PricesRecord> {
  const entry = await store.get(KEYS.prices());
  return entry ? parseRecord(KEYS.prices, entry).record : { entries: [] };
}

/**
 * M5: returns the price of a night, by its day (`YYYY-MM-DD`). The currency is that of the last entry before the month
 * began; the price is the last one in that currency before the midnight that ends the day. So another currency, with
 * the price in it, waits for the next month. The very first entry holds for all nights before it, too.
 * @throws Error while no price is recorded: no night may be metered then
 */
export function priceOfNight({ entries }: PricesRecord, day: string): Price {
  const [first] = entries;
  if (!first) throw new Error('No price is recorded yet: the night cannot be metered before the leader has done so.');
  const currency = currencyOfMonth(entries, first, monthOf(day));
  const midnight = endOfDay(day);
  const last = entries.findLast((entry) => entry.since < midnight && entry.currency === currency);
  return { price: (last ?? first).price, currency };
}

function currencyOfMonth(entries: readonly PriceEntry[], first: PriceEntry, month: string): string {
  const start = startOfMonth(month);
  return (entries.findLast((entry) => entry.since < start) ?? first).currency;
}

/**
 * Returns the record with the configured price as its newest entry, or the same record where it is so already.
 * @param now milliseconds since 1970
 * @param through the last metered night; undefined before the first
 * @throws Error where nights that are yet to be metered need more than 1000 entries
 */
export function withPrice(
  record: PricesRecord,
  { price, currency }: Price,
  now: number,
  through: string | undefined,
): PricesRecord {
  // A clock that was far ahead left entries that would never hold; a small difference of clocks keeps their order.
  const known = record.entries.filter((entry) => entry.since <= now + DAY_MS);
  const newest = known.at(-1);
  const settled = newest?.price === price && newest.currency === currency;
  if (settled && known.length === record.entries.length) return record;
  const since = Math.max(now, newest?.since ?? 0);
  const entries = settled ? known : append(known, { since, price, currency });
  const kept = entries.length > PRICE_ENTRIES_MAX ? pruned(entries, through) : entries;
  if (kept.length > PRICE_ENTRIES_MAX) {
    throw new Error(`The price changed more than ${PRICE_ENTRIES_MAX} times since the last metered night; keep it.`);
  }
  return { ...record, entries: kept };
}

/**
 * Only the last entry of a day and currency can hold at a midnight; the very first one also holds for the time before.
 */
function append(entries: readonly PriceEntry[], next: PriceEntry): PriceEntry[] {
  const newest = entries.at(-1);
  const replaces =
    entries.length > 1 && newest?.currency === next.currency && dayAt(newest.since) === dayAt(next.since);
  return [...(replaces ? entries.slice(0, -1) : entries), next];
}

/** The first month with a night to meter takes its currency, and so its first price, from the last entry before it. */
function pruned(entries: PriceEntry[], through: string | undefined): PriceEntry[] {
  if (through === undefined) return entries;
  const month = monthOf(dayAt(endOfDay(through)));
  const from = entries.findLastIndex((entry) => entry.since < startOfMonth(month));
  return entries.slice(Math.max(0, from));
}

/**
 * Records the configured price, where it is not the newest one; then every night from the next midnight on has it. Like
 * every change that counts for a night it expects the day record, and is of that day at the earliest: a clock that is
 * behind, or a commit that was long under way, changes no night that may be metered already.
 * @param now milliseconds since 1970
 * @param fence the fence of the leader's term
 * @returns `conflict` where another process was faster, or leads now: the caller tries again
 * @throws StoreUnavailable; BadRecord; Error as `withPrice`
 */
export async function recordPrice(
  store: Store,
  configured: Price,
  now: number,
  fence: readonly Expectation[],
): Promise<'recorded' | 'unchanged' | 'conflict'> {
  const entry = await store.get(KEYS.prices());
  const before = entry ? parseRecord(KEYS.prices, entry).record : { entries: [] };
  const metered = await store.get(KEYS.metered());
  const through = metered && parseRecord(KEYS.metered, metered).record.through;
  const day = await store.get(KEYS.day());
  const earliest = day ? startOfDay(parseRecord(KEYS.day, day).record.day) : 0;
  const after = withPrice(before, configured, Math.max(now, earliest), through);
  if (after === before) return 'unchanged';
  const { outcome } = await store.commit({
    expect: [expectAsFound(KEYS.prices(), entry), expectAsFound(KEYS.day(), day), ...fence],
    write: [put(KEYS.prices(), after)],
    quiet: true,
  });
  return outcome === 'committed' ? 'recorded' : 'conflict';
}
