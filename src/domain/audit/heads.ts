import type * as z from 'zod';
import { pagesOf } from '../../store/pages.ts';
import { PAGE_ENTRIES_MAX, type Entry, type KeyPrefix, type Store } from '../../store/port.ts';
import { BadRecord, parseRecord } from '../records/codec.ts';

/** A kind of which each account has one record at most. */
interface HeadKind<T> {
  readonly schema: z.ZodType<T>;
  under(): KeyPrefix;
}

/**
 * The records of such a kind, by account. One that cannot be read is passed over: whoever reads it alone reports it.
 * @throws StoreUnavailable
 */
export async function* headsOf<T>(store: Store, kind: HeadKind<T>): AsyncGenerator<readonly [string, T], void> {
  const prefix = kind.under();
  for await (const { entries } of pagesOf(store, { prefix, limit: PAGE_ENTRIES_MAX })) {
    for (const entry of entries) {
      const head = readable(kind, entry);
      if (head !== undefined) yield [entry.key.slice(prefix.length), head];
    }
  }
}

function readable<T>(kind: HeadKind<T>, entry: Entry): T | undefined {
  try {
    return parseRecord(kind, entry).record;
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
    return undefined;
  }
}
