import { pagesOf } from '../../store/pages.ts';
import type { Entry, Store } from '../../store/port.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { dayAfter } from '../status-history/day-record.ts';
import type { ChangedSince } from './count-active.ts';

/** A range of account ids, both ends included. */
interface AccountRange {
  readonly first: string;
  readonly last: string;
}

const PAGE_ENTRIES = 250;

/**
 * Lists the status changes of these accounts on the days after `night`, up to and including `today`, by account.
 * @param today the day record's day, as it was when the state of the accounts was read, or later
 * @throws StoreUnavailable; BadRecord
 */
export async function changesSince(
  store: Pick<Store, 'list'>,
  night: string,
  today: string,
  range: AccountRange,
): Promise<ReadonlyMap<string, ChangedSince>> {
  const changed = new Map<string, ChangedSince>();
  // Earlier days come first: the status before an app's first change is the one that counts.
  for (let day = dayAfter(night); day <= today; day = dayAfter(day)) {
    for await (const entry of entriesOf(store, KEYS.statusChange.under(day), range))
      note(changed, KEYS.statusChange.under(day), entry);
  }
  return changed;
}

async function* entriesOf(store: Pick<Store, 'list'>, prefix: string, range: AccountRange): AsyncIterable<Entry> {
  const end = endOfAccount(prefix, range.last);
  // It begins a little below the first account: entries between the two are read in vain, and there is rarely any.
  const after = endOfAccount(prefix, range.first.slice(0, -1));
  for await (const { entries, next } of pagesOf(store, { prefix, after, limit: PAGE_ENTRIES })) {
    for (const entry of entries) if (entry.key < end) yield entry;
    if (next !== undefined && next >= end) return;
  }
}

/** A key above every key of the account and below every key of the next one: ids have letters and digits alone. */
const endOfAccount = (prefix: string, accountId: string): string => `${prefix}${accountId}/~`;

function note(changed: Map<string, ChangedSince>, prefix: string, entry: Entry): void {
  const [accountId = '', appId] = entry.key.slice(prefix.length).split('/');
  let account = changed.get(accountId);
  if (!account) changed.set(accountId, (account = { disabled: undefined, before: new Map() }));
  if (appId === undefined) account.disabled ??= parseRecord(KEYS.accountStatusChange, entry).record.before;
  else if (!account.before.has(appId)) account.before.set(appId, parseRecord(KEYS.statusChange, entry).record.before);
}
