import { pagesOf } from '../../store/pages.ts';
import { PAGE_ENTRIES_MAX, type Store } from '../../store/port.ts';
import { KEYS } from '../records/keys.ts';
import { parseRecord } from '../records/codec.ts';
import type { Since } from './following/news.ts';

/** Up to which revision the entries of each account are in blocks: what is after it is to be sealed. */
export const sealedIn =
  (store: Store): Since =>
  async () => {
    const through = new Map<string, number>();
    for await (const { entries } of pagesOf(store, { prefix: KEYS.chain.under(), limit: PAGE_ENTRIES_MAX })) {
      for (const entry of entries) through.set(entry.key.slice(KEYS.chain.under().length), throughOf(entry));
    }
    return (accountId) => through.get(accountId) ?? 0;
  };

type ChainEntry = Parameters<typeof parseRecord>[1];

/** An unreadable head seals nothing: sealing its account then reports that the chain is broken. */
function throughOf(entry: ChainEntry): number {
  try {
    return parseRecord(KEYS.chain, entry).record.through;
  } catch {
    return 0;
  }
}
