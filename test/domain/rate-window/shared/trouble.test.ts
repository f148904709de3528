import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { DEADLINES } from '../../../../src/domain/limits.ts';
import { putWindow } from '../../../../src/domain/rate-window/shared/record-codec.ts';
import { bucketOf, NO_WINDOW, stamped, UNKNOWN } from '../../../../src/domain/rate-window/shared/record.ts';
import { WINDOW_RULES } from '../../../../src/domain/rate-window/shared/rules.ts';
import {
  createSharedRateWindow,
  type SharedRateWindow,
} from '../../../../src/domain/rate-window/shared/shared-window.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { Busy } from '../../../../src/domain/refusal.ts';
import { expectAbsent, StoreUnavailable, type Store } from '../../../../src/store/port.ts';
import { openSqliteStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { faultyStore, type FaultyStore } from '../../../support/store/faulty-store.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';

const log = pino({ level: 'silent' });
let repaired = 0;
const metrics = {
  rateAllotment: () => undefined,
  rateRecordRepaired: () => void (repaired += 1),
  rateWaited: () => undefined,
  rateSharedAge: () => undefined,
};
const windowOn = (
  store: Store,
  clock: FakeClock,
  replicaId = 'me',
  logged = log,
  unregistered: () => StoreUnavailable | undefined = () => undefined,
): SharedRateWindow =>
  createSharedRateWindow({
    store,
    clock,
    deadlines: DEADLINES,
    log: logged,
    metrics,
    replicaId,
    replicas: { live: async () => [], clockHeard: () => undefined, unregistered },
  });

test('a replica that is not on the registry charges nobody and writes nothing, and charges once it is', async () => {
  await using real = await openSqliteStore(':memory:');
  const store = faultyStore(real);
  let unregistered: StoreUnavailable | undefined = new StoreUnavailable('full', 'not on the registry');
  const window = windowOn(store, new FakeClock(), 'me', log, () => unregistered);
  await expect(async () => await window.charge('a')).rejects.toThrow('not on the registry');
  expect([store.calls.get, store.calls.commit]).toEqual([0, 0]);
  unregistered = undefined;
  expect((await window.charge('a')).admitted).toBe(true);
});

test('a stop while the watch is being opened is not held up', async () => {
  await using real = await openSqliteStore(':memory:');
  const store = faultyStore(real);
  const answer = store.stall('list');
  const stopping = new AbortController();
  const run = windowOn(store, new FakeClock()).run(stopping.signal);
  await until(() => store.calls.list === 1);
  stopping.abort();
  answer();
  await run;
  expect(store.watching).toBe(0);
});

test('an unreadable record costs an account that seldom calls a minute and no more, one error line, and is written anew', async () => {
  await using store = await openSqliteStore(':memory:');
  const key = KEYS.rateWindow('a');
  await store.commit({ expect: [expectAbsent(key)], write: [{ put: key, value: '{}' }], quiet: true });
  const clock = new FakeClock();
  const stopping = new AbortController();
  const lines: string[] = [];
  const logged = pino({ level: 'info' }, { write: (line) => void lines.push(line) });
  const [window, other] = [windowOn(store, clock, 'me', logged), windowOn(store, clock, 'other', logged)];
  const runs = [window, other].map((one) => one.run(stopping.signal));
  repaired = 0;
  const refused = window.charge('a');
  expect(await refused).toMatchObject({ admitted: false, freesInSeconds: 61 });
  expect(await other.charge('a'), 'it can read the record').toMatchObject({ admitted: false });
  expect([repaired, lines.map((line) => JSON.parse(line) as unknown)]).toEqual([
    1,
    [expect.objectContaining({ level: 50, accountId: 'a' })],
  ]);
  // Until the replica has forgotten the account, too.
  for (let ms = 0; ms < 80_000; ms += 500) {
    clock.advance(500);
    await setImmediate();
  }
  expect(await window.charge('a')).toMatchObject({ admitted: true });
  stopping.abort();
  await Promise.all(runs);
});

test('an allotment that was returned while the watch was down is found when it is open again', async () => {
  await using real = await openSqliteStore(':memory:');
  const [store, clock, stopping] = [faultyStore(real), new FakeClock(), new AbortController()];
  const [one, other] = [windowOn(store, clock, 'one'), windowOn(real, clock, 'other')];
  const run = one.run(stopping.signal);
  await until(() => store.watching === 1);
  // The other replica has no watch: its allotment is not returned when it is recalled.
  await other.charge('a');
  const burst = Promise.all(Array.from({ length: 600 }, async () => (await one.charge('a')).admitted));
  let isOver = false;
  void burst.then(() => (isOver = true));
  await until(() => {
    clock.advance(50);
    return isOver;
  });
  expect((await burst).filter(Boolean)).toHaveLength(560);
  store.sever();
  await other.finish();
  expect((await one.charge('a')).admitted, 'not known while the watch is down').toBe(false);
  clock.advance(500);
  await until(() => store.watchesOpened === 2);
  await setImmediate();
  expect((await one.charge('a')).admitted).toBe(true);
  stopping.abort();
  await run;
});

describe('a request that waits until after its answer of 502', () => {
  /** The request is too late when the commit for it is answered; `meanwhile` happens before. */
  async function late(
    store: FaultyStore,
    spent: number,
    meanwhile: (window: SharedRateWindow) => void = () => undefined,
  ) {
    const clock = new FakeClock();
    const [at, bucket] = [clock.monotonic(), bucketOf(clock.now(), WINDOW_RULES)];
    const record = stamped({ ...NO_WINDOW, spent: [{ by: UNKNOWN, bucket, units: spent, at }] }, at);
    const before = putWindow('a', record, WINDOW_RULES);
    await store.commit({ expect: [expectAbsent(before.put)], write: [before], quiet: true });
    store.isAside = () => false;
    const [read, committed] = [store.stall('get'), store.stall('commit')];
    const window = windowOn(store, clock);
    const decision = Promise.resolve(window.charge('a'));
    await until(() => store.calls.get === 1);
    clock.advance(1700);
    read();
    await until(() => store.calls.commit === 1);
    clock.advance(300);
    meanwhile(window);
    committed();
    return decision;
  }

  test('spends what was charged for it: others may have been refused over that', async () => {
    await using store = faultyStore(await openSqliteStore(':memory:'));
    expect(await late(store, 450)).toMatchObject({ admitted: true });
  });

  test('leaves its unit to a request that came meanwhile and is in time', async () => {
    await using store = faultyStore(await openSqliteStore(':memory:'));
    let other: Promise<unknown> | undefined;
    const decision = late(store, 450, (window) => {
      other = Promise.resolve(window.charge('a'));
    });
    await expect(decision).rejects.toThrow(Busy);
    expect(await other).toMatchObject({ admitted: true });
    expect(store.calls.commit).toBe(1);
  });

  test('spends nothing of an allotment, which is there for others', async () => {
    await using store = faultyStore(await openSqliteStore(':memory:'));
    await expect(late(store, 300)).rejects.toThrow(Busy);
  });
});

test('an allotment that was used is settled before it ends, an unused one ends unsettled', async () => {
  await using store = faultyStore(await openSqliteStore(':memory:'));
  store.isAside = () => false;
  const [clock, stopping] = [new FakeClock(), new AbortController()];
  const window = windowOn(store, clock);
  const run = window.run(stopping.signal);
  await until(() => store.watching === 1);
  await window.charge('a');
  const passed = async (ms: number): Promise<number> => {
    for (let since = 0; since < ms; since += 500) {
      clock.advance(500);
      await setImmediate();
    }
    return store.calls.commit;
  };
  expect(await passed(30_000)).toBe(1);
  await passed(1000);
  // It is settled and renewed.
  await until(() => store.calls.commit === 2);
  expect(await passed(90_000), 'nobody needs it').toBe(2);
  stopping.abort();
  await run;
});
