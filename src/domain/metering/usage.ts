import { pagesOf, type PageOf } from '../../store/pages.ts';
import { PAGE_ENTRIES_MAX, type Entry, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { DAY_MS, dayAt, endOfDay, lastDayOf, startOfMonth } from '../../time/utc-days.ts';
import type { Account, Accounts } from '../accounts/accounts.ts';
import { BadRecord, parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { LedgerRecord } from '../records/metering-records.ts';
import { Refusal } from '../refusal.ts';
import { amountOf, samePrice, totalOf, type Amount } from './amount.ts';
import { priceOfNight, readPrices, type Price } from './prices.ts';

interface UsageDeps {
  readonly store: Store;
  readonly accounts: Pick<Accounts, 'list' | 'read'>;
  readonly clock: Pick<Clock, 'now'>;
  /** The configured price: it is shown for a month without nights while no price is recorded. */
  readonly price: Price;
}

/** A question for the usage of a month. */
export interface UsageQuestion {
  /** `YYYY-MM`, 1970 or later. */
  readonly month: string;
  /** Which accounts: one, a page of them, or all. */
  readonly of: { readonly accountId: string } | PageOf | 'all';
}

/** The nights of one account in a month, with their amount. */
export interface AccountUsage extends Amount {
  readonly accountId: string;
  readonly name: string;
  /** In the order of the days, as they are in the ledger. */
  readonly nights: readonly LedgerRecord[];
}

/** The usage of a month (M5). */
export interface Usage {
  readonly month: string;
  readonly currency: string;
  /** Null where the nights have different prices. */
  readonly pricePerDaemonMonth: string | null;
  /** Every night of the month that has ended is in the ledger; false for a month that has not begun. */
  readonly complete: boolean;
  /** The month is over and complete: its nights and amounts change no more. */
  readonly final: boolean;
  /** In the order of the account ids; also accounts without nights. */
  readonly accounts: readonly AccountUsage[];
  readonly total: Amount;
  /** The start of the next page; undefined after the last one. */
  readonly next: string | undefined;
}

/** Bounds one step of many against the store. */
export type InTime = <T>(work: Promise<T>) => Promise<T>;

/** Reads the usage of months from the ledger. */
export interface Usages {
  /**
   * Reads the bill of a month (M5). The ledger alone counts, not the state of an account or an app now.
   * @param inTime bounds each step against the store
   * @throws Refusal `not_found`; `invalid_request` for more than 2000 accounts at once, or a sum above 2^53 − 1;
   *   StoreUnavailable; BadRecord
   */
  read(question: UsageQuestion, inTime: InTime): Promise<Usage>;
}

/**
 * The most accounts of one answer (62,000 nights). More are read page by page: totals add up, as each account is
 * rounded.
 */
export const USAGE_ACCOUNTS_MAX = 2000;

/** Creates the reports of usage; see `Usages`. */
export function createUsages({ store, accounts, clock, price }: UsageDeps): Usages {
  return {
    async read({ month, of }, inTime) {
      // This is read before the ledger: every night that is metered by now is found there afterwards.
      const isOver = clock.now() >= endOfDay(lastDayOf(month));
      const complete = await inTime(isComplete(month));
      const { items, next } = await inTime(accountsOf(of));
      const range = typeof of === 'object' && 'accountId' in of ? of.accountId : { after: afterOf(of), upTo: next };
      const nights = await nightsOf(month, range, inTime);
      const { currency, pricePerDaemonMonth } = pricesOf([...nights.values()].flat()) ?? (await inTime(current(month)));
      const statements = withUnknown(items, nights).map(({ accountId, name }): AccountUsage => {
        const own = nights.get(accountId) ?? [];
        return { accountId, name, nights: own, ...amountOf(month, currency, own) };
      });
      return {
        month,
        currency,
        pricePerDaemonMonth,
        complete,
        final: isOver && complete,
        accounts: statements,
        total: totalOf(statements),
        next,
      };
    },
  };

  async function isComplete(month: string): Promise<boolean> {
    const now = clock.now();
    if (now < startOfMonth(month)) return false;
    const yesterday = dayAt(now - DAY_MS);
    const lastNight = yesterday < lastDayOf(month) ? yesterday : lastDayOf(month);
    // On the first of a month none of its nights has ended.
    if (lastNight < `${month}-01`) return true;
    const metered = await store.get(KEYS.metered());
    if (metered && parseRecord(KEYS.metered, metered).record.through >= lastNight) return true;
    // Nights that had ended before the store began are not owed either.
    const day = await store.get(KEYS.day());
    return day !== undefined && parseRecord(KEYS.day, day).record.since > lastNight;
  }

  async function accountsOf(of: UsageQuestion['of']): Promise<{ items: readonly Account[]; next: string | undefined }> {
    if (of !== 'all' && 'accountId' in of) return { items: [await accounts.read(of.accountId)], next: undefined };
    const page = await accounts.list(of === 'all' ? { limit: USAGE_ACCOUNTS_MAX, after: undefined } : of);
    // A bill without its end must not look like a whole one.
    if (of === 'all' && page.next !== undefined) throw tooMany();
    return page;
  }

  /** The nights of one account, or of the accounts after one and up to another. */
  async function nightsOf(month: string, range: string | Range, inTime: InTime): Promise<Map<string, LedgerRecord[]>> {
    const whole = typeof range === 'object';
    const prefix = whole ? KEYS.ledger.under(month) : KEYS.ledger.under(month, range);
    const end = whole && range.upTo !== undefined ? lastKeyOf(month, range.upTo) : undefined;
    const within = (key: string): boolean => end === undefined || key < end;
    const nights = new Map<string, LedgerRecord[]>();
    const after = whole && range.after !== undefined ? lastKeyOf(month, range.after) : undefined;
    const request = { prefix, limit: PAGE_ENTRIES_MAX, after };
    const pages = pagesOf({ list: (page) => inTime(store.list(page)) }, request);
    for await (const { entries, next } of pages) {
      for (const entry of entries) if (within(entry.key)) add(nights, month, entry);
      if (next !== undefined && !within(next)) break;
    }
    return nights;
  }

  /** The price at the end of the month: of its last night, whether that has ended or is still to come. */
  async function current(month: string): Promise<Pick<Usage, 'currency' | 'pricePerDaemonMonth'>> {
    const prices = await readPrices(store);
    const known = prices.entries.length > 0 ? priceOfNight(prices, lastDayOf(month)) : price;
    return { currency: known.currency, pricePerDaemonMonth: known.price };
  }
}

interface Range {
  readonly after: string | undefined;
  readonly upTo: string | undefined;
}

const afterOf = (of: UsageQuestion['of']): string | undefined =>
  of === 'all' || 'accountId' in of ? undefined : of.after;

/** A key after every key of the account: days are digits. */
const lastKeyOf = (month: string, accountId: string): string => `${KEYS.ledger.under(month, accountId)}~`;

function add(nights: Map<string, LedgerRecord[]>, month: string, entry: Entry): void {
  const { record } = parseRecord(KEYS.ledger, entry);
  const accountId = entry.key.slice(KEYS.ledger.under(month).length).split('/')[0] ?? '';
  if (entry.key !== KEYS.ledger(month, accountId, record.day.slice(8)) || !record.day.startsWith(`${month}-`)) {
    throw new BadRecord(`The record ${entry.key} is of another night than its key.`);
  }
  const own = nights.get(accountId);
  if (own) own.push(record);
  else if (nights.size < USAGE_ACCOUNTS_MAX) nights.set(accountId, [record]);
  else throw tooMany();
}

/** Adds accounts whose records cannot be read, without a name: their nights are owed all the same. */
function withUnknown(
  known: readonly Pick<Account, 'accountId' | 'name'>[],
  nights: ReadonlyMap<string, unknown>,
): readonly Pick<Account, 'accountId' | 'name'>[] {
  const ids = new Set(known.map(({ accountId }) => accountId));
  const unknown = [...nights.keys()].filter((accountId) => !ids.has(accountId));
  if (unknown.length === 0) return known;
  const all = [...known, ...unknown.map((accountId) => ({ accountId, name: '' }))];
  return all.sort((a, b) => (a.accountId < b.accountId ? -1 : 1));
}

function pricesOf(nights: readonly LedgerRecord[]): Pick<Usage, 'currency' | 'pricePerDaemonMonth'> | undefined {
  const newest = nights.at(-1);
  if (!newest) return undefined;
  const prices = new Set(nights.map(({ price }) => price));
  const same = [...prices].every((price) => samePrice(price, newest.price));
  return { currency: newest.currency, pricePerDaemonMonth: same ? newest.price : null };
}

const tooMany = (): Refusal =>
  new Refusal(
    'invalid_request',
    `There are more than ${USAGE_ACCOUNTS_MAX} accounts: ask page by page, with limit and after, and add the totals up.`,
  );
