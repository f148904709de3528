import { expect, test, vi } from 'vitest';
import { caughtUp, createFleet } from '../../../src/domain/fleet/fleet.ts';
import { FleetMemory } from '../../../src/domain/fleet/memory.ts';
import { directReader } from '../../../src/domain/fleet/store-reader.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { CACHED_GROUPS, KEYS } from '../../../src/domain/records/keys.ts';
import { createLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics/service-metrics.ts';
import { type Entry, expectAbsent, type Put, type Store, StoreUnavailable } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { WatchCache, type Freshness } from '../../../src/store/watch-cache/watch-cache.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const account = (id: string) =>
  put(KEYS.account(id), { name: 'a', entitlement: 'standard', disabled: false, createdAt: 1 });
const app = (accountId: string, id: string, credential: string) =>
  put(KEYS.app(accountId, id), {
    name: id,
    status: 'active',
    statusAt: 1,
    createdAt: 1,
    slot: 0,
    platform: '',
    agentVersion: '',
    connection: 'cloud',
    enrolledAt: 1,
    credential,
    codes: [],
    spent: [],
  });
const entry = ({ put: key, value }: Put, revision: number): Entry => ({
  key: rawKey(key),
  value,
  revision,
});

/** The fleet of a store, followed. */
async function following(store: Store, unreadable: unknown[] = []) {
  const memory = new FleetMemory({ onUnreadable: (error) => void unreadable.push(error) });
  const log = createLog('silent');
  const [clock, metrics] = [new FakeClock(), createMetrics('test')];
  const watchCache = new WatchCache({ store, sink: memory, clock, log, metrics, groups: CACHED_GROUPS });
  watchCache.start();
  await until(() => watchCache.ready);
  const fleet = createFleet(store, watchCache, memory);
  return { memory, watchCache, fleet, [Symbol.asyncDispose]: () => watchCache[Symbol.asyncDispose]() };
}

async function commit(store: Store, ...write: Put[]): Promise<void> {
  await store.commit({ expect: [expectAbsent('never')], write });
}

test('memory that is dropped while a request is under way says that it is away, not that nothing is there', async () => {
  await using store = await openSqliteStore(':memory:');
  await commit(store, account('one'), app('one', 'app', 'hash'));
  await using followed = await following(store);
  const reader = await followed.fleet.current();
  expect(await reader.account('one')).toMatchObject({ id: 'one' });
  followed.memory.clear();
  for (const read of [
    () => reader.account('one'),
    () => reader.accountOfKey('key'),
    () => reader.appById('app'),
    () => reader.appOfCredential('hash'),
  ]) {
    expect(read).toThrow(StoreUnavailable);
  }
});

test('records that this program cannot read are refused and do not make memory differ from the store', async () => {
  await using store = await openSqliteStore(':memory:');
  const broken = { put: KEYS.app('one', 'broken'), value: '{"name":1}' };
  const unheardOf = { put: rawKey(`${KEYS.account('one')}/of-a-newer-version/x`), value: '{}' };
  await commit(store, account('one'), app('one', 'app', 'hash'), broken, unheardOf);
  const unreadable: unknown[] = [];
  await using followed = await following(store, unreadable);
  expect(followed.memory.appById('broken')).toBeUndefined();
  expect(followed.memory.appById('app')).toBeDefined();
  expect(unreadable).toHaveLength(1);
  expect(await followed.watchCache.checkConsistency()).toBe('equal');
  await commit(store, { ...broken, value: app('one', 'broken', 'other').value });
  await store.commit({ expect: [expectAbsent('never')], write: [{ remove: rawKey(unheardOf.put) }] });
  await until(async () => (await followed.watchCache.fresh()) === 'fresh');
  expect(followed.memory.appById('broken')).toBeDefined();
  expect(await followed.watchCache.checkConsistency()).toBe('equal');
});

test('the removal of an app that comes late does not take the credential of its next owner along', () => {
  const memory = new FleetMemory({ onUnreadable: () => undefined });
  memory.put(entry(account('one'), 1));
  memory.put(entry(app('one', 'old', 'hash'), 2));
  memory.put(entry(app('one', 'new', 'hash'), 4));
  memory.remove(KEYS.app('one', 'old'));
  expect(memory.appOfCredential('hash')?.app.id).toBe('new');
});

test('an app that is newer than memory is found as soon as memory has caught up', async () => {
  await using store = await openSqliteStore(':memory:');
  await commit(store, account('one'));
  await using followed = await following(store);
  const { memory, watchCache } = followed;
  let looks = 0;
  const fresh = async (): Promise<Freshness> => {
    looks += 1;
    if (looks < 3) return 'behind';
    await commit(store, app('one', 'new', 'hash'));
    return await watchCache.fresh();
  };
  const reader = directReader(store, memory, () => caughtUp(memory, { fresh }));
  expect((await reader.appById('new'))?.app.id).toBe('new');
  expect(looks).toBe(3);
  expect(await reader.appById('none')).toBeUndefined();
});

test('a credential that another app takes over between two reads of the store is that app’s, and not refused', async () => {
  await using store = await openSqliteStore(':memory:');
  const boundTo = (appId: string) => put(KEYS.credential('hash'), { accountId: 'one', appId });
  await commit(store, account('one'), app('one', 'first', 'hash'), app('one', 'second', 'none'), boundTo('first'));
  let takeover: (() => Promise<void>) | undefined;
  const racing = wrappedStore(store, {
    get: async (key) => {
      const entry = await store.get(key);
      const act = key === KEYS.credential('hash') ? takeover : undefined;
      if (act) takeover = undefined;
      await act?.();
      return entry;
    },
  });
  const memory = new FleetMemory({ onUnreadable: () => undefined });
  const reader = directReader(racing, memory, async () => memory);
  takeover = async () =>
    await commit(store, app('one', 'first', 'none'), app('one', 'second', 'hash'), boundTo('second'));
  expect((await reader.appOfCredential('hash'))?.app.id).toBe('second');
  takeover = async () => await commit(store, app('one', 'second', 'other'));
  expect(await reader.appOfCredential('hash'), 'revoked between the two reads').toBeUndefined();
  takeover = async () => {
    await store.commit({ expect: [expectAbsent('never')], write: [{ remove: boundTo('').put }] });
  };
  expect(await reader.appOfCredential('hash'), 'removed between the two reads').toBeUndefined();
  expect(await reader.appOfCredential('unknown')).toBeUndefined();
});

test('a credential that changes its app at every read is unavailable, not unknown', async () => {
  await using store = await openSqliteStore(':memory:');
  let writes = 0;
  const bind = async (): Promise<void> =>
    await commit(store, put(KEYS.credential('hash'), { accountId: 'one', appId: `app-${(writes += 1)}` }));
  await bind();
  const racing = wrappedStore(store, {
    get: async (key) => {
      const entry = await store.get(key);
      if (key === KEYS.credential('hash')) await bind();
      return entry;
    },
  });
  const memory = new FleetMemory({ onUnreadable: () => undefined });
  await expect(directReader(racing, memory, async () => memory).appOfCredential('hash')).rejects.toThrow(
    StoreUnavailable,
  );
  expect(writes).toBeLessThan(20);
});

test('an app that memory never hears of is unavailable, not unknown', async () => {
  await using store = await openSqliteStore(':memory:');
  await using followed = await following(store);
  const { memory } = followed;
  let looks = 0;
  const fresh = (): Freshness => {
    looks += 1;
    return 'behind';
  };
  const reader = directReader(store, memory, () => caughtUp(memory, { fresh }));
  await expect(reader.appById('none')).rejects.toThrow(StoreUnavailable);
  expect(looks).toBe(36);
});

test('the store that is slow to say how new it is, is not asked for longer than one call may take', async () => {
  await using store = await openSqliteStore(':memory:');
  await using followed = await following(store);
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    let looks = 0;
    const fresh = (): Freshness => {
      looks += 1;
      vi.advanceTimersByTime(300);
      return 'behind';
    };
    await expect(caughtUp(followed.memory, { fresh }, 1800)).rejects.toThrow(StoreUnavailable);
    expect(looks).toBe(6);
  } finally {
    vi.useRealTimers();
  }
});

test('what only memory can tell waits for a watch that is late, and has what was committed before', async () => {
  await using real = await openSqliteStore(':memory:');
  const late = new LateWatch(real);
  await using followed = await following(late.store);
  late.holdUntilHeads(3);
  await commit(real, account('one'));
  const memory = await followed.fleet.whole();
  expect([...memory.accounts()].map(({ id }) => id)).toEqual(['one']);
  expect(late.heads).toBe(3);
});

/** A store whose watch brings nothing until `head` has been asked for a number of times. */
class LateWatch {
  readonly store: Store;
  heads = Number.NEGATIVE_INFINITY;
  #until = 0;
  readonly #held: (() => void)[] = [];

  constructor(real: Store) {
    this.store = wrappedStore(real, {
      head: () => {
        this.heads += 1;
        if (this.heads === this.#until) for (const deliver of this.#held.splice(0)) deliver();
        return real.head();
      },
      watch: (prefix, from, listener) =>
        real.watch(prefix, from, {
          onOpen: () => listener.onOpen(),
          onEnd: (reason) => listener.onEnd(reason),
          onBatch: (batch) => {
            if (this.heads < this.#until) this.#held.push(() => listener.onBatch(batch));
            else listener.onBatch(batch);
          },
        }),
    });
  }

  holdUntilHeads(count: number): void {
    this.heads = 0;
    this.#until = count;
  }
}
