import { pagesOf } from '../../store/pages.ts';
import { PAGE_ENTRIES_MAX, type Entry, type Store } from '../../store/port.ts';
import type { AuditIndexRecord } from '../records/audit-records.ts';
import { KEYS } from '../records/keys.ts';
import { parseRecord } from '../records/codec.ts';
import type { Since } from './news.ts';

/** Is told of the entries that no segment of the index describes (index/unindexed.ts). */
interface Unindexed {
  clear(): void;
  /** The listing has such an entry of an account; those of one account follow each other. */
  listed(accountId: string): void;
}

/**
 * Up to which revision the entries of each account are in blocks: what is after it is to be sealed. So is an entry
 * within what the index describes that is newer than the index: it came late, and was sealed by a leader of a version
 * that knows of no index.
 */
export const sealedIn =
  (store: Store, unindexed: Unindexed): Since =>
  async () => {
    const [through, heads] = [new Map<string, number>(), new Map<string, AuditIndexRecord>()];
    for await (const { entries } of pagesOf(store, { prefix: KEYS.chain.under(), limit: PAGE_ENTRIES_MAX })) {
      for (const entry of entries) through.set(entry.key.slice(KEYS.chain.under().length), throughOf(entry));
    }
    for await (const { entries } of pagesOf(store, { prefix: KEYS.auditIndex.under(), limit: PAGE_ENTRIES_MAX })) {
      for (const entry of entries) {
        const head = indexIn(entry);
        if (head) heads.set(entry.key.slice(KEYS.auditIndex.under().length), head);
      }
    }
    unindexed.clear();
    return (accountId, suffix) => {
      const sealed = through.get(accountId) ?? 0;
      const head = heads.get(accountId);
      if (head && suffix <= head.through) return Math.min(sealed, head.revision);
      unindexed.listed(accountId);
      return sealed;
    };
  };

/** An unreadable head seals nothing: sealing its account then reports that the chain is broken. */
function throughOf(entry: Entry): number {
  try {
    return parseRecord(KEYS.chain, entry).record.through;
  } catch {
    return 0;
  }
}

/** An index that cannot be read is none. */
function indexIn(entry: Entry): AuditIndexRecord | undefined {
  try {
    return parseRecord(KEYS.auditIndex, entry).record;
  } catch {
    return undefined;
  }
}
