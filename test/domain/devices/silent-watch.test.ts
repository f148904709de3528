import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TurnQueue } from '../../../src/concurrency/turn-queue.ts';
import { createHeldPolls, type HeldPoll, type HeldPolls } from '../../../src/domain/devices/held-polls.ts';
import { createSilentWatchCheck } from '../../../src/domain/devices/silent-watch.ts';
import { createFleet } from '../../../src/domain/fleet/fleet.ts';
import { createPulse } from '../../../src/domain/fleet/pulse.ts';
import { FleetMemory } from '../../../src/domain/fleet/memory.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { CACHED_GROUPS, KEYS } from '../../../src/domain/records/keys.ts';
import { createLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics/service-metrics.ts';
import { expectAbsent, type Put, type Store, StoreUnavailable } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { WatchCache } from '../../../src/store/watch-cache/watch-cache.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';
import type { AppStatus } from '../../../src/domain/records/app-records.ts';

const account = (id: string, name = id) =>
  put(KEYS.account(id), { name, entitlement: 'standard', disabled: false, createdAt: 1 });
const app = (accountId: string, id: string, status: AppStatus = 'active') =>
  put(KEYS.app(accountId, id), {
    name: id,
    status,
    statusAt: 1,
    createdAt: 1,
    slot: 0,
    platform: '',
    agentVersion: '',
    connection: 'cloud',
    enrolledAt: 1,
    codes: [],
    spent: [],
  });

const commit = (store: Store, ...write: readonly Put[]) => store.commit({ expect: [expectAbsent('never')], write });

/** Nine accounts whose ids begin alike, which are listed together, and one by itself; each has two apps. */
const TOGETHER = Array.from({ length: 9 }, (_, n) => `a${n}`);
const ALL = [...TOGETHER, 'b0'];
const APPS = ['one', 'two'];

/** A replica whose watch is silent, and on which every app has a held poll. */
async function deaf(real: Store) {
  for (const id of ALL) await commit(real, account(id), ...APPS.map((one) => app(id, one)));
  const store = faultyStore(real);
  const [clock, log, metrics] = [new FakeClock(), createLog('silent'), createMetrics('test')];
  const memory = new FleetMemory({ onUnreadable: (error) => expect.unreachable(String(error)) });
  const watchCache = new WatchCache({ store, sink: memory, clock, log, metrics, groups: CACHED_GROUPS });
  watchCache.start();
  await until(() => watchCache.ready);
  const stop = new AbortController();
  const fleet = createFleet(store, watchCache, memory);
  const pulse = createPulse({ fleet, clock, log, stopping: stop.signal });
  const begun = createSilentWatchCheck({ store, fleet, pulse }, () => polls);
  const turns = new TurnQueue(Number.POSITIVE_INFINITY);
  const polls: HeldPolls = createHeldPolls({ memory, turns, metrics, stopping: stop.signal, begun });
  const woken: string[] = [];
  for (const accountId of ALL) {
    for (const id of APPS) {
      const poll: HeldPoll | undefined = polls.hold({ id, accountId });
      poll?.look();
      void poll?.changed().then(() => woken.push(`${accountId}/${id}`));
    }
  }
  store.deaf = true;
  const lists = store.calls.list;
  return {
    clock,
    faulty: store,
    woken,
    listings: () => store.calls.list - lists,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await watchCache[Symbol.asyncDispose]();
    },
  };
}

test('where the watch is silent, a change ends the polls that it concerns; accounts that begin alike share a listing', async () => {
  await using store = await openSqliteStore(':memory:');
  await using replica = await deaf(store);
  const { clock, woken, listings } = replica;
  await commit(store, app('a3', 'two', 'revoked'), account('a5', 'another'), app('b0', 'one', 'revoked'));
  clock.advance(1000);
  await until(() => woken.length >= 4);
  await setImmediate();
  expect(woken.toSorted()).toEqual(['a3/two', 'a5/one', 'a5/two', 'b0/one']);
  expect(listings()).toBe(2);
});

test('where a listing fails, its round ends with the listings under way, and the next one begins after them', async () => {
  await using store = await openSqliteStore(':memory:');
  await using replica = await deaf(store);
  const { clock, faulty, woken } = replica;
  const slow = Promise.withResolvers<void>();
  const list = faulty.list.bind(faulty);
  let listed = 0;
  faulty.list = async (request) => {
    listed += 1;
    if (listed === 1) throw new StoreUnavailable('timeout', 'The first listing is late.');
    await slow.promise;
    return await list(request);
  };
  await commit(store, app('b0', 'one', 'revoked'));
  clock.advance(1000);
  await until(() => listed === 2);
  for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  // The two loops of the watch cache: the check does not pause before another round.
  expect(clock.sleeping).toBe(2);
  slow.resolve();
  await until(() => {
    clock.advance(100);
    return woken.includes('b0/one');
  });
});

test('nothing is listed while memory is as new as the store', async () => {
  await using store = await openSqliteStore(':memory:');
  await using replica = await deaf(store);
  const { clock, woken, listings } = replica;
  // The check, and two loops of the watch cache.
  for (let second = 0; second < 3; second += 1) {
    await until(() => clock.sleeping === 3);
    clock.advance(1000);
  }
  await until(() => clock.sleeping === 3);
  expect([woken, listings()]).toEqual([[], 0]);
});
