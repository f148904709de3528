import { createLog } from '../../../src/log.ts';
import { CACHED_PREFIX, HEAD_KEY, expectAbsent, type Entry, type Store } from '../../../src/store/port.ts';
import type { WatchCacheMetrics } from '../../../src/store/watch-cache/metrics.ts';
import { WatchCache, type WatchCacheSink } from '../../../src/store/watch-cache/watch-cache.ts';
import type { Clock } from '../../../src/time/clock.ts';
import { FakeClock } from '../time/fake-clock.ts';
import { until } from '../time/until.ts';
import { rawKey } from '../store/raw-key.ts';

/** The entries that the watch cache fed to it. */
class Shelf implements WatchCacheSink {
  readonly entries = new Map<string, Entry>();
  /** Every removal and every clearing, which must not be undone by a page that was read before. */
  settledTimes = 0;
  clearedTimes = 0;

  put(entry: Entry): void {
    this.entries.set(entry.key, entry);
  }

  remove(key: string): void {
    this.entries.delete(key);
  }

  clear(): void {
    this.clearedTimes += 1;
    this.entries.clear();
  }

  revisionOf(key: string): number | undefined {
    return this.entries.get(key)?.revision;
  }

  *held(prefix: string): Iterable<readonly [key: string, revision: number]> {
    for (const { key, revision } of this.entries.values()) if (key.startsWith(prefix)) yield [key, revision];
  }

  settled(): void {
    this.settledTimes += 1;
  }

  value(key: string): string | undefined {
    return this.entries.get(key)?.value;
  }
}

/** A watch cache at work, with what it fed, counted and logged. */
export interface Followed extends AsyncDisposable {
  readonly watchCache: WatchCache;
  readonly shelf: Shelf;
  readonly clock: FakeClock;
  readonly counted: { behind: number; relisted: number; watchEnds: string[]; checks: string[] };
  readonly logged: string[];
  /** Time goes on, so that pauses end, until it is ready. */
  ready(): Promise<void>;
  /**
   * Resolves when memory holds all that was written before; on a busy machine the first check may still find it behind.
   */
  caughtUp(): Promise<void>;
}

interface FollowOptions {
  readonly clock?: Clock;
  readonly checkEveryMs?: number;
}

/** Begins to follow the store; with the fake clock nothing happens by itself but what the store does. */
export function follow(store: Store, options: FollowOptions = {}): Followed {
  const shelf = new Shelf();
  const fake = new FakeClock();
  const counted: Followed['counted'] = { behind: 0, relisted: 0, watchEnds: [], checks: [] };
  const metrics: WatchCacheMetrics = {
    cacheApplied: () => undefined,
    cacheBehind: () => (counted.behind += 1),
    cacheRelisted: () => (counted.relisted += 1),
    cacheWatchEnded: (reason) => counted.watchEnds.push(reason),
    cacheChecked: (verdict) => counted.checks.push(verdict),
  };
  const logged: string[] = [];
  const log = createLog('debug', { write: (line) => void logged.push(line) });
  const watchCache = new WatchCache({
    store,
    sink: shelf,
    clock: options.clock ?? fake,
    log,
    metrics,
    groups: [`${CACHED_PREFIX}a/`, `${CACHED_PREFIX}b/`],
    ...(options.checkEveryMs !== undefined && { checkEveryMs: options.checkEveryMs }),
  });
  watchCache.start();
  return {
    watchCache,
    shelf,
    clock: fake,
    counted,
    logged,
    async ready() {
      await until(async () => {
        if (watchCache.ready && (await watchCache.fresh()) === 'fresh') return true;
        fake.advance(100);
        return false;
      });
    },
    caughtUp: () => until(async () => (await watchCache.fresh()) === 'fresh'),
    [Symbol.asyncDispose]: () => watchCache[Symbol.asyncDispose](),
  };
}

const key = (name: string | number): string => `${CACHED_PREFIX}a/${name}`;

/** A write under the watch cache's range, acknowledged. @returns its revision */
export async function write(store: Store, name: string | number, value: string): Promise<number> {
  return await commit(store, [{ put: rawKey(key(name)), value }]);
}

export async function erase(store: Store, name: string | number): Promise<number> {
  return await commit(store, [{ remove: rawKey(key(name)) }]);
}

async function commit(store: Store, changes: Parameters<Store['commit']>[0]['write']): Promise<number> {
  const result = await store.commit({ expect: [expectAbsent('never')], write: changes });
  if (result.outcome !== 'committed') throw new Error('expected the commit to succeed');
  return result.revision;
}

/** Many entries, by as few commits as there may be. */
export async function fillStore(store: Store, count: number): Promise<void> {
  for (let from = 0; from < count; from += 120) {
    const names = Array.from({ length: Math.min(120, count - from) }, (_, index) => from + index);
    await commit(
      store,
      names.map((n) => ({ put: rawKey(key(`n${String(n).padStart(6, '0')}`)), value: String(n) })),
    );
  }
}

/** All that the store has in the watch cache's range, but `head`. */
export async function truth(store: Store): Promise<Map<string, Entry>> {
  const found = new Map<string, Entry>();
  let after: string | undefined;
  do {
    const page = await store.list({ prefix: CACHED_PREFIX, limit: 1000, after });
    for (const entry of page.entries) if (entry.key !== HEAD_KEY) found.set(entry.key, entry);
    after = page.next;
  } while (after !== undefined);
  return found;
}
