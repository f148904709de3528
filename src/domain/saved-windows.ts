import * as z from 'zod';
import { ABSENT, PAGE_ENTRIES_MAX, type Expectation, type Store } from '../store/port.ts';
import type { LocalRateWindow } from './rate-window.ts';
import { KEYS, parseRecord, put } from './records.ts';

const savedSchema = z.looseObject({ instants: z.array(z.number()).max(600) });

/*
 * The embedded mode keeps the rate windows over a clean restart: written when the process ends, read and removed when
 * it begins. Like all of the limiter's records they touch neither `head` nor the audit.
 */

/** @throws StoreUnavailable */
export async function saveWindows(store: Store, windows: LocalRateWindow): Promise<void> {
  for (const [accountId, instants] of windows.save()) {
    const key = KEYS.rateWindow(accountId);
    const entry = await store.get(key);
    await store.commit({
      expect: [{ key, revision: entry?.revision ?? ABSENT }],
      write: [put(key, { instants })],
      quiet: true,
    });
  }
}

/** @throws StoreUnavailable */
export async function restoreWindows(store: Store, windows: LocalRateWindow): Promise<void> {
  const saved = new Map<string, readonly number[]>();
  let one: Expectation | undefined;
  let after: string | undefined;
  do {
    const request = { prefix: KEYS.rateWindows, limit: PAGE_ENTRIES_MAX, ...(after !== undefined && { after }) };
    const page = await store.list(request);
    for (const entry of page.entries) {
      saved.set(entry.key.slice(KEYS.rateWindows.length), parseRecord(savedSchema, entry).record.instants);
      one = { key: entry.key, revision: entry.revision };
    }
    after = page.next;
  } while (after !== undefined);
  windows.restore(saved);
  if (one) await store.commit({ expect: [one], write: [{ removeAll: KEYS.rateWindows }], quiet: true });
}
