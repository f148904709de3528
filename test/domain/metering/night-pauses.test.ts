import { expect, test } from 'vitest';
import { meterNight } from '../../../src/domain/metering/meter-night.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Clock } from '../../../src/time/clock.ts';
import { accountAt, appAt, ledgerOf, newId, replicaOn, write } from '../../support/metering/metering.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import type { AppStatus } from '../../../src/domain/records/app-records.ts';

const ACCOUNTS = 20;
const MANY = 250;
const PAUSE_MAX_MS = 1000;
const [NIGHT, TODAY] = ['2026-06-01', '2026-06-02'];

interface Options {
  readonly apps: number;
  readonly status?: AppStatus;
  /** How long each listing of the store takes by the night's clock. */
  readonly listMs?: number;
  readonly onPause?: () => void;
}

/** Meters a night of 20 accounts by a clock that moves with pauses and listings alone. */
async function metered(signal: AbortSignal, { apps, status = 'active', listMs = 1, onPause }: Options) {
  await using store = await openSqliteStore(':memory:');
  const clock = new FakeClock(Date.parse(`${TODAY}T01:00:00Z`));
  const accounts = Array.from({ length: ACCOUNTS }, newId);
  await write(store, [
    put(KEYS.day(), { day: TODAY, since: NIGHT }),
    ...accounts.flatMap((accountId) => [
      accountAt(accountId, 0),
      ...Array.from({ length: apps }, () => appAt(accountId, newId(), 0, status)),
    ]),
  ]);
  await using replica = await replicaOn(store, clock);
  await replica.caughtUp();
  const pauses: number[] = [];
  let elapsed = 0;
  const ownClock: Clock = {
    now: () => clock.now(),
    monotonic: () => elapsed,
    async sleep(ms) {
      pauses.push(ms);
      elapsed += ms;
      onPause?.();
    },
  };
  const slow: Pick<Store, 'get' | 'commit' | 'list'> = {
    get: async (key) => await store.get(key),
    commit: async (change) => await store.commit(change),
    async list(request) {
      elapsed += listMs;
      return await store.list(request);
    },
  };
  const deps = { ...replica.deps, store: slow, clock: ownClock, fence: [], pauseMs: 5 };
  const night = { day: NIGHT, price: { price: '1.50', currency: 'EUR' }, doneTo: '' };
  const outcome = await meterNight(deps, night, signal).catch((error: unknown) => error);
  return { outcome, pauses, recorded: (await ledgerOf(store)).size };
}

const unstopped = new AbortController().signal;

test('a night pauses after each account of many apps that it has read or counted, and after its commit', async () => {
  const { outcome, pauses, recorded } = await metered(unstopped, { apps: MANY });
  expect([outcome, recorded, pauses.length]).toEqual([true, ACCOUNTS, 2 * ACCOUNTS + 1]);
});

test.each(['pending', 'revoked'] as const)('apps that are %s are read, too, and not counted', async (status) => {
  const { outcome, pauses } = await metered(unstopped, { apps: MANY, status });
  expect([outcome, pauses.length]).toEqual([true, ACCOUNTS + 1]);
});

test('a night goes on at once between small accounts', async () => {
  expect((await metered(unstopped, { apps: 2 })).pauses).toHaveLength(1);
});

test('time for which a night waited for the store is no work, and no pause is longer than a second', async () => {
  const { pauses } = await metered(unstopped, { apps: MANY, listMs: 30_000 });
  expect(Math.max(...pauses)).toBeLessThan(PAUSE_MAX_MS);
});

test('a night ends in the pause in which it is stopped, and records nothing', async () => {
  const stop = new AbortController();
  const stopped = new Error('stopped');
  const { outcome, pauses, recorded } = await metered(stop.signal, { apps: MANY, onPause: () => stop.abort(stopped) });
  expect([outcome, pauses.length, recorded]).toEqual([stopped, 1, 0]);
});
