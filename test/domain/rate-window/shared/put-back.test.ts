import { pino } from 'pino';
import { expect, test } from 'vitest';
import { DEADLINES } from '../../../../src/domain/limits.ts';
import {
  createSharedRateWindow,
  type SharedRateWindow,
} from '../../../../src/domain/rate-window/shared/shared-window.ts';
import { expectAbsent, type Store } from '../../../../src/store/port.ts';
import { openSqliteStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { wrappedStore } from '../../../support/store/wrapped-store.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { until } from '../../../support/time/until.ts';
import { rawKey } from '../../../support/store/raw-key.ts';

/*
 * The store is put back to an earlier state under a running replica, as by an etcd that is restored from a snapshot: it
 * gives out its revisions again. Here the earlier state is an empty one.
 */

const log = pino({ level: 'silent' });
const metrics = {
  rateAllotment: () => undefined,
  rateRecordRepaired: () => undefined,
  rateWaited: () => undefined,
  rateSharedAge: () => undefined,
};

const windowOn = (store: Store, clock: FakeClock, replicaId: string): SharedRateWindow =>
  createSharedRateWindow({
    store,
    clock,
    deadlines: DEADLINES,
    log,
    metrics,
    replicaId,
    replicas: { live: async () => [], clockHeard: () => undefined, unregistered: () => undefined },
  });

const commits = async (store: Store, count: number): Promise<void> => {
  for (let n = 0; n < count; n += 1) {
    await store.commit({ expect: [expectAbsent('never')], write: [{ put: rawKey('any'), value: String(n) }] });
  }
};

/** How many of so many requests at once are admitted. */
async function admitted(window: SharedRateWindow, clock: FakeClock, account: string, requests: number) {
  let decisions: readonly boolean[] | undefined;
  const all = Array.from({ length: requests }, async () => (await window.charge(account)).admitted);
  void Promise.all(all).then((one) => (decisions = one));
  await until(() => {
    if (decisions === undefined) clock.advance(10);
    return decisions !== undefined;
  });
  return decisions?.filter(Boolean).length ?? 0;
}

/** A replica whose store is put back by `putBack`: its watch is silent from then on, and it looks once a second. */
async function running() {
  const opened = new AsyncDisposableStack();
  const [lost, restored] = [
    opened.use(await openSqliteStore(':memory:')),
    opened.use(await openSqliteStore(':memory:')),
  ];
  let current: Store = lost;
  let looks = 0;
  const store = wrappedStore(lost, {
    get: (key) => current.get(key),
    commit: (change) => current.commit(change),
    list: (request) => current.list(request).finally(() => (looks += 1)),
  });
  const [clock, stopping] = [new FakeClock(), new AbortController()];
  const one = windowOn(store, clock, 'one');
  const run = one.run(stopping.signal);
  await until(() => looks > 0);
  // Many more than the store will have when it is put back.
  await commits(lost, 1000);
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 1000) {
      const before = looks;
      clock.advance(1000);
      await until(() => looks > before);
    }
  };
  return {
    one,
    restored,
    clock,
    pass,
    putBack: () => void (current = restored),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await run;
      await opened.disposeAsync();
    },
  };
}

test('nothing is admitted any more from an allotment that the store has forgotten, whatever the account', async () => {
  await using replica = await running();
  const { one, restored, clock, pass, putBack } = replica;
  for (const account of ['a', 'b']) expect(await admitted(one, clock, account, 1)).toBe(1);
  putBack();
  await pass(2000);
  const other = windowOn(restored, clock, 'other');
  for (const account of ['a', 'b']) {
    const passed = await admitted(other, clock, account, 600);
    expect(1 + passed + (await admitted(one, clock, account, 600))).toBe(600);
  }
});

test('what is spent afterwards counts for its minute and no longer, whichever accounts are read meanwhile', async () => {
  await using replica = await running();
  const { one, restored, clock, pass, putBack } = replica;
  for (const account of ['a', 'b']) expect(await admitted(one, clock, account, 1)).toBe(1);
  putBack();
  await pass(2000);
  const other = windowOn(restored, clock, 'other');
  expect(await admitted(other, clock, 'b', 1)).toBe(1);
  // The first replica has reported its unit, and taken another allotment.
  expect(await admitted(other, clock, 'a', 600)).toBeGreaterThan(500);
  await pass(50_000);
  expect(await admitted(one, clock, 'b', 1)).toBe(1);
  await pass(14_000);
  expect(await admitted(one, clock, 'a', 1)).toBe(1);
});
