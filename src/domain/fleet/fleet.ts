import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import { StoreUnavailable, type Store } from '../../store/port.ts';
import { CATCH_UP_MS, type Freshness, type WatchCache } from '../../store/watch-cache/watch-cache.ts';
import { systemClock } from '../../time/clock.ts';
import { DEADLINES, type Deadlines } from '../limits.ts';
import type { FleetMemory } from './memory.ts';
import type { FleetReader } from './reader.ts';
import { directReader } from './store-reader.ts';

/** The only way to the fleet's records. Every request asks anew; the answer is as the store was then or later (A12). */
export interface Fleet {
  /**
   * A reader of the fleet as it was when this was called, or later: memory, or the store itself while memory is behind.
   * @throws StoreUnavailable when the store does not answer within its deadline
   */
  current(): MaybePromise<FleetReader>;
  /**
   * As `current`, but it causes no read of the store: it waits, for 1.3 s at most, for a read that another caller
   * begins.
   * @throws StoreUnavailable as `current`
   */
  currentDeferred(): MaybePromise<FleetReader>;
  /**
   * Memory, as new as the store was when this was called, for questions that only memory answers, such as which
   * accounts there are. Waits as long as a call of the store may take, and one read of `head` longer.
   * @throws StoreUnavailable `timeout` when memory does not get there in time; else as `current`
   */
  whole(): Promise<FleetMemory>;
  /**
   * The revision of the newest `head`, as it was when this was called, or later.
   * @throws StoreUnavailable as `current`
   */
  revision(): Promise<number>;
  /**
   * Notes the newest `head` that was read so far.
   * @returns whether memory has come that far by the time it is asked, which costs no read
   */
  catchingUp(): () => boolean;
  /**
   * The newest instant of audit entries that the readers so far can depend on, in milliseconds since 1970; 0 for none.
   */
  newestInstant(): number;
  readonly memory: FleetMemory;
}

/** The fleet over a store, the watch cache and the memory that it feeds. `storeMs` bounds `whole`. */
export function createFleet(
  store: Store,
  watchCache: WatchCache,
  memory: FleetMemory,
  { storeMs }: Pick<Deadlines, 'storeMs'> = DEADLINES,
): Fleet {
  const whole = (): Promise<FleetMemory> => caughtUp(memory, watchCache, storeMs);
  const direct = directReader(store, memory, whole);
  const cached = whileWhole(memory);
  const readerAfter = (freshness: MaybePromise<Freshness>): MaybePromise<FleetReader> =>
    andThen(freshness, (known) => (known === 'fresh' ? cached : direct));
  return {
    memory,
    current: () => readerAfter(watchCache.fresh()),
    currentDeferred: () => readerAfter(watchCache.freshDeferred()),
    whole,
    async revision() {
      await watchCache.fresh();
      return watchCache.lastHead;
    },
    newestInstant: () => watchCache.newestInstant,
    catchingUp: () => {
      const { lastHead } = watchCache;
      return () => memory.whole && watchCache.applied >= lastHead;
    },
  };
}

/**
 * As `Fleet.whole`. Asks several times: a pause of the watch or of this process may be longer than `CATCH_UP_MS`.
 * @throws StoreUnavailable as `Fleet.whole`
 */
export async function caughtUp(
  memory: FleetMemory,
  watchCache: Pick<WatchCache, 'fresh'>,
  withinMs: number = DEADLINES.storeMs,
): Promise<FleetMemory> {
  const end = systemClock.monotonic() + withinMs;
  // An attempt may be over at once: their number is bounded, too.
  for (let left = withinMs / CATCH_UP_MS; left > 0 && systemClock.monotonic() < end; left -= 1) {
    if ((await watchCache.fresh()) === 'fresh' && memory.whole) return memory;
  }
  // Unavailable for a moment is better than a wrong answer.
  throw notCaughtUp();
}

export const notCaughtUp = (): StoreUnavailable =>
  new StoreUnavailable(
    'timeout',
    'The store responds, and the memory of this replica has not caught up with it in time.',
  );

/** Memory as a reader. Memory may be dropped while a request is under way: "not found" would then be a wrong answer. */
function whileWhole(memory: FleetMemory): FleetReader {
  const whole = (): FleetMemory => {
    if (!memory.whole) throw new StoreUnavailable('timeout', 'Memory is being filled anew.');
    return memory;
  };
  return {
    atOnce: true,
    now: () => memory.now(),
    account: (accountId) => whole().account(accountId),
    accountOfKey: (keyId) => whole().accountOfKey(keyId),
    appOfCredential: (hash) => whole().appOfCredential(hash),
    appById: (appId) => whole().appById(appId),
    user: (userId) => whole().user(userId),
    users: () => whole().users(),
    userCount: (invitedBy) => whole().userCount(invitedBy),
    session: (sessionId) => whole().session(sessionId),
    sessionsOf: (userId) => whole().sessionsOf(userId),
    accessToken: (tokenId) => whole().accessToken(tokenId),
    accessTokensOf: (userId) => whole().accessTokensOf(userId),
    accountsOfMember: (userId) => whole().accountsOfMember(userId),
    keysMadeBy: (userId) => whole().keysMadeBy(userId),
    operators: () => whole().operators(),
    newcomer: () => whole().newcomer(),
    day: () => whole().day(),
    activeKey: () => whole().activeKey(),
  };
}
