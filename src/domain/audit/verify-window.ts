import { pagesOf } from '../../store/pages.ts';
import { PAGE_ENTRIES_MAX, type Store } from '../../store/port.ts';
import { suffixOf } from '../records/audit-records.ts';
import { KEYS } from '../records/keys.ts';
import { entryDigest } from './chain.ts';
import { ownBytesOf } from './own-bytes.ts';

/** A stored entry, and whether a block has it. */
export interface Stored {
  readonly digest: string;
  readonly revision: number;
  /** It tells of the creation of the account. */
  readonly begins: boolean;
  /** The bytes that its account is charged with. */
  readonly ownBytes: number;
  sealed: boolean;
}

/** Stored entries by the last part of their keys: those that sort after `after`, up to and including `to`. */
export interface Window {
  readonly stored: Map<string, Stored>;
  readonly after: string | undefined;
  /** Undefined in the last one, which has no end. */
  readonly to: string | undefined;
}

export const isIn = ({ after, to }: Window, suffix: string): boolean =>
  (after === undefined || suffix > after) && (to === undefined || suffix <= to);

/** An entry as JSON has this once: a quotation mark within a text is escaped. */
const CREATION = '"action":"account.created"';

/**
 * Reads all of an account's audit entries, in windows of about `size` entries.
 * @throws StoreUnavailable, also once the signal has aborted
 */
export async function* windowsOf(
  store: Store,
  accountId: string,
  size: number,
  signal?: AbortSignal,
): AsyncGenerator<Window, undefined> {
  const prefix = KEYS.audit.under(accountId);
  let stored = new Map<string, Stored>();
  let after: string | undefined;
  const request = { prefix, limit: Math.min(size, PAGE_ENTRIES_MAX) };
  for await (const { entries, next } of pagesOf(store, request, signal)) {
    for (const { key, value, revision } of entries) {
      const begins = value.includes(CREATION);
      const ownBytes = ownBytesOf({ key, value });
      stored.set(suffixOf(accountId, key), { digest: entryDigest(value), revision, begins, ownBytes, sealed: false });
    }
    if (next === undefined || stored.size < size) continue;
    const to = suffixOf(accountId, next);
    yield { stored, after, to };
    stored = new Map();
    after = to;
  }
  yield { stored, after, to: undefined };
}
