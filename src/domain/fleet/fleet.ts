import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import { StoreUnavailable, type Store } from '../../store/port.ts';
import { CATCH_UP_MS, type Freshness, type WatchCache } from '../../store/watch-cache/watch-cache.ts';
import { systemClock } from '../../time/clock.ts';
import { DEADLINES, type Deadlines } from '../limits.ts';
import type { FleetMemory } from './memory.ts';
import type { FleetReader } from './reader.ts';
import { directReader } from './store-reader.ts';

/** The only way to the fleet's records: asked by every request, answered as the store was then or later. */
export interface Fleet {
  /** @throws StoreUnavailable when the store does not say how new it is */
  current(): MaybePromise<FleetReader>;
  /** As `current`, but later: it waits for a question that others put to the store, for a second or so. */
  currentDeferred(): MaybePromise<FleetReader>;
  /**
   * Memory, as new as the store was when this was called: for what the store cannot be asked, as which accounts there
   * are. It is waited for as long as a call of the store may take, and one look at the store longer.
   * @throws StoreUnavailable when memory does not get there
   */
  whole(): Promise<FleetMemory>;
  readonly memory: FleetMemory;
}

export function createFleet(
  store: Store,
  watchCache: WatchCache,
  memory: FleetMemory,
  { storeMs }: Pick<Deadlines, 'storeMs'> = DEADLINES,
): Fleet {
  const whole = (): Promise<FleetMemory> => caughtUp(memory, watchCache, storeMs);
  const direct = directReader(store, memory, whole);
  const held = whileWhole(memory);
  const readerAfter = (asked: MaybePromise<Freshness>): MaybePromise<FleetReader> =>
    andThen(asked, (freshness) => (freshness === 'fresh' ? held : direct));
  return {
    memory,
    current: () => readerAfter(watchCache.fresh()),
    currentDeferred: () => readerAfter(watchCache.freshDeferred()),
    whole,
  };
}

/** As `Fleet.whole`: a pause of the watch or of this process may be longer than one look waits for it. */
export async function caughtUp(
  memory: FleetMemory,
  watchCache: Pick<WatchCache, 'fresh'>,
  withinMs: number = DEADLINES.storeMs,
): Promise<FleetMemory> {
  const end = systemClock.monotonic() + withinMs;
  // A look may be over at once: their number is bounded, too.
  for (let looks = withinMs / CATCH_UP_MS; looks > 0 && systemClock.monotonic() < end; looks -= 1) {
    if ((await watchCache.fresh()) === 'fresh' && memory.whole) return memory;
  }
  // Better unavailable for a moment than told wrong.
  throw new StoreUnavailable('timeout', 'Memory is behind the store.');
}

/** Memory as a reader. It may be dropped while a request is under way: "not found" would then be a wrong answer. */
function whileWhole(memory: FleetMemory): FleetReader {
  const whole = (): FleetMemory => {
    if (!memory.whole) throw new StoreUnavailable('timeout', 'Memory is being filled anew.');
    return memory;
  };
  return {
    atOnce: true,
    account: (accountId) => whole().account(accountId),
    accountOfKey: (keyId) => whole().accountOfKey(keyId),
    appOfCredential: (hash) => whole().appOfCredential(hash),
    appById: (appId) => whole().appById(appId),
    day: () => whole().day(),
    activeKey: () => whole().activeKey(),
  };
}
