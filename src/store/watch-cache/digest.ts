import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import type { Clock } from '../../time/clock.ts';
import { PAGE_ENTRIES_MAX, type Store } from '../port.ts';

/** The number of keys, and a sum over keys and revisions that does not depend on their order. */
interface Digest {
  readonly count: number;
  readonly sum: number;
}

/** The digest of keys with their revisions. Sums stay exact up to two million keys: 2^21 terms below 2^32. */
export function digestOf(held: Iterable<readonly [key: string, revision: number]>): Digest {
  let count = 0;
  let sum = 0;
  for (const [key, revision] of held) {
    count += 1;
    sum += crc32(`${key}@${revision}`);
  }
  return { count, sum };
}

/** etcd reads and counts thousands of keys for a page: pauses three times as long let in what requests read. */
const PAUSE_FACTOR = 3;

/**
 * The digest of what the store held under the prefix at a revision, read page by page.
 * @returns `compacted` when that history is gone; `stopped` once the signal has aborted
 * @throws StoreUnavailable as `Store.listAt`
 */
export async function storedDigest(
  { store, clock }: { readonly store: Pick<Store, 'listAt'>; readonly clock: Pick<Clock, 'monotonic' | 'sleep'> },
  prefix: string,
  revision: number,
  stop: AbortSignal,
): Promise<Digest | 'compacted' | 'stopped'> {
  let whole: Digest = { count: 0, sum: 0 };
  let after: string | undefined;
  do {
    const startedAt = clock.monotonic();
    const request = { prefix, limit: PAGE_ENTRIES_MAX, keysOnly: true, after };
    const page = await store.listAt(request, revision);
    if (page === 'compacted') return page;
    const part = digestOf(page.entries.map((entry) => [entry.key, entry.revision] as const));
    whole = { count: whole.count + part.count, sum: whole.sum + part.sum };
    after = page.next;
    if (after === undefined) await nextTurn();
    else await clock.sleep(PAUSE_FACTOR * (clock.monotonic() - startedAt), stop);
    if (stop.aborted) return 'stopped';
  } while (after !== undefined);
  return whole;
}
