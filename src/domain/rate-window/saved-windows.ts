import * as z from 'zod';
import { pagesOf } from '../../store/pages.ts';
import { ABSENT, PAGE_ENTRIES_MAX, type Entry, type Expectation, type Store } from '../../store/port.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { LocalRateWindow } from './local-window.ts';

/** The window of an account as the embedded store keeps it over a restart. */
export const savedSchema = z.looseObject({ instants: z.array(z.number()).max(600) });

/*
 * The embedded mode keeps the rate windows over a clean restart: they are written when the process ends, and read and
 * removed when it begins. Like all records of the rate window they touch neither `head` nor the audit.
 */

const RECORDS_PER_COMMIT_MAX = 100;
const CHARACTERS_PER_COMMIT_MAX = 65_536;

/** Writes the windows to the store, in as many commits as it takes. @throws StoreUnavailable */
export async function saveWindows(store: Store, windows: LocalRateWindow): Promise<void> {
  const revisions = new Map<string, number>();
  for await (const { key, revision } of savedEntries(store, true)) revisions.set(key, revision);
  const records = [...windows.save()].map(([accountId, instants]) => put(KEYS.rateWindow(accountId), { instants }));
  for (const batch of batches(records)) {
    const [first, ...others] = batch.map((record) => ({
      key: record.put,
      revision: revisions.get(record.put) ?? ABSENT,
    }));
    if (first) await store.commit({ expect: [first, ...others], write: batch, quiet: true });
  }
}

type Put = ReturnType<typeof put>;

function* batches(records: readonly Put[]): Iterable<readonly Put[]> {
  let batch: Put[] = [];
  let characters = 0;
  for (const record of records) {
    const isFull =
      batch.length === RECORDS_PER_COMMIT_MAX || characters + record.value.length > CHARACTERS_PER_COMMIT_MAX;
    if (isFull) {
      yield batch;
      [batch, characters] = [[], 0];
    }
    batch.push(record);
    characters += record.value.length;
  }
  yield batch;
}

async function* savedEntries(store: Store, keysOnly: boolean): AsyncIterable<Entry> {
  const request = { prefix: KEYS.rateWindows, limit: PAGE_ENTRIES_MAX, keysOnly };
  for await (const { entries } of pagesOf(store, request)) yield* entries;
}

/** Reads the saved windows into `windows` and removes them from the store. @throws StoreUnavailable; BadRecord */
export async function restoreWindows(store: Store, windows: LocalRateWindow): Promise<void> {
  const saved = new Map<string, readonly number[]>();
  let one: Expectation | undefined;
  for await (const entry of savedEntries(store, false)) {
    saved.set(entry.key.slice(KEYS.rateWindows.length), parseRecord(savedSchema, entry).record.instants);
    one = { key: entry.key, revision: entry.revision };
  }
  windows.restore(saved);
  if (one) await store.commit({ expect: [one], write: [{ removeAll: KEYS.rateWindows }], quiet: true });
}
