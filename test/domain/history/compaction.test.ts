import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runLoop, type Reconciler } from '../../../src/controller/loop.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { createLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics/service-metrics.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { openEtcdStore } from '../../../src/store/etcd/etcd-store.ts';
import { ABSENT, expectAbsent, StoreUnavailable, type Store } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import { purgeLoop } from '../../support/records/purge-loop.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';
import { rawKey, rawPut } from '../../support/store/raw-key.ts';

const LOOK_MS = 5000;
const MINUTE_MS = 60_000;
const signal = new AbortController().signal;
const term = { fence: [], signal };

interface Replica {
  readonly store: FaultyStore;
  readonly loop: Reconciler;
}

function replica(opened: Store, clock: FakeClock, compacts = true): Replica {
  const store = faultyStore(opened);
  return { store, loop: purgeLoop({ store, clock, metrics: createMetrics('test'), compacts }, term) };
}

/** The leader checks every five seconds; the replicas lead in turn. @returns the compactions of each check */
async function pass(clock: FakeClock, ms: number, replicas: readonly Replica[]): Promise<number[]> {
  const compactions: number[] = [];
  const done = (): number => replicas.reduce((sum, { store }) => sum + store.calls.compact, 0);
  for (let passed = 0; passed < ms; passed += LOOK_MS) {
    clock.advance(LOOK_MS);
    const before = done();
    for (const { loop } of replicas) await loop.reconcile(signal);
    compactions.push(done() - before);
  }
  return compactions;
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

/** @returns the revision of a record that is then overwritten, so that only the history has it */
async function overwritten(store: Store): Promise<number> {
  const revisions: number[] = [];
  for (const value of ['old', 'new']) {
    const { entries } = await store.list({ prefix: 'thing', limit: 1 });
    const result = await store.commit({
      expect: [expectRevision('thing', entries[0]?.revision ?? ABSENT)],
      write: [{ put: rawKey('thing'), value }],
    });
    if (result.outcome === 'committed') revisions.push(result.revision);
  }
  return revisions[0] ?? expect.unreachable('both are committed');
}

async function purge(store: Store): Promise<number> {
  const secret = await overwritten(store);
  await store.commit({
    expect: [expectAbsent('never')],
    write: [put(KEYS.purge(randomUUID()), { at: 1, keyNumber: 1 })],
  });
  return secret;
}

const isKept = async (store: Store, revision: number): Promise<boolean> =>
  (await store.listAt({ prefix: 'thing', limit: 1 }, revision)) !== 'compacted';

const notes = async (store: Store): Promise<number> =>
  (await store.list({ prefix: KEYS.purge.under(), limit: 10 })).entries.length;

/** A purge while a snapshot of an older revision is taken: not counted as forgotten before it is. */
async function expectCountedLater(opened: Store, clock: FakeClock): Promise<void> {
  const one = replica(opened, clock);
  const early = await purge(opened);
  const { revision } = await opened.list({ prefix: 'thing', limit: 1 });
  const retained = opened.retain(revision);
  const late = await purge(opened);
  await pass(clock, MINUTE_MS, [one]);
  expect([await isKept(opened, early), await isKept(opened, revision), await isKept(opened, late)]).toEqual([
    false,
    true,
    true,
  ]);
  expect(await notes(opened), 'the purge before the snapshot is counted').toBe(1);
  retained[Symbol.dispose]();
  await pass(clock, MINUTE_MS, [one]);
  expect([await isKept(opened, late), await notes(opened)]).toEqual([false, 0]);
}

const binary = findEtcd();

describe.skipIf(binary === undefined)(`compaction of an etcd${binary ? '' : ` [skipped: ${NO_ETCD}]`}`, () => {
  let cluster: EtcdCluster;
  let clock: FakeClock;
  let prefix: string;
  beforeAll(async () => {
    cluster = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
  });
  afterAll(() => cluster[Symbol.asyncDispose]());
  beforeEach(() => {
    clock = new FakeClock();
    prefix = `${randomUUID()}/`;
  });

  const open = (): Promise<Store> => openEtcdStore({ endpoints: [cluster.member.url], prefix, deadlineMs: 60_000 });

  test('without any purge the history is compacted, but never that of the last five minutes', async () => {
    await using opened = await open();
    const one = replica(opened, clock);
    const first = await overwritten(opened);
    expect(sum(await pass(clock, LOOK_MS, [one])), 'the first check only notes the revision').toBe(0);
    const recent = await overwritten(opened);
    expect(sum(await pass(clock, 5 * MINUTE_MS - LOOK_MS, [one]))).toBe(0);
    expect(sum(await pass(clock, LOOK_MS, [one]))).toBe(1);
    expect([await isKept(opened, first), await isKept(opened, recent)]).toEqual([false, true]);
    expect(sum(await pass(clock, 5 * MINUTE_MS, [one]))).toBe(1);
    expect(await isKept(opened, recent)).toBe(false);
  });

  test('two leaders in turn do together what one would do', async () => {
    await using opened = await open();
    await using other = await open();
    const replicas = [replica(opened, clock), replica(other, clock)];
    const compactions = await pass(clock, 11 * MINUTE_MS, replicas);
    expect([sum(compactions), Math.max(...compactions)]).toEqual([2, 1]);
  });

  test('purge upon purge: two leaders in turn compact at most every 50 s, and each purge is gone within a minute', async () => {
    await using opened = await open();
    await using other = await open();
    const replicas = [replica(opened, clock), replica(other, clock)];
    const purged: { readonly at: number; readonly revision: number }[] = [];
    const compactedAt: number[] = [];
    for (let look = 0; look < 44; look += 1) {
      purged.push({ at: clock.now(), revision: await purge(opened) });
      const count = sum(await pass(clock, LOOK_MS, replicas));
      for (let n = 0; n < count; n += 1) compactedAt.push(clock.now());
      // A purge that is gone stays gone, so each is checked once.
      while (purged[0] && clock.now() - purged[0].at >= MINUTE_MS) {
        expect(await isKept(opened, purged.shift()?.revision ?? 0)).toBe(false);
      }
    }
    const gaps = compactedAt.slice(1).map((at, index) => at - (compactedAt[index] ?? 0));
    expect(gaps.length).toBeGreaterThanOrEqual(3);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(50_000);
  });

  test('a purge right after a compaction is gone within a minute', async () => {
    await using opened = await open();
    const one = replica(opened, clock);
    await pass(clock, LOOK_MS, [one]);
    const compactions = await pass(clock, 5 * MINUTE_MS, [one]);
    expect(compactions.at(-1)).toBe(1);
    const secret = await purge(opened);
    expect(sum(await pass(clock, MINUTE_MS - LOOK_MS, [one]))).toBe(1);
    expect(await isKept(opened, secret)).toBe(false);
  });

  test('a leader whose clock is far ahead does not hold up the purges of the next one', async () => {
    await using opened = await open();
    await using other = await open();
    const ahead = new FakeClock(clock.now() + 60 * MINUTE_MS);
    await purge(opened);
    await replica(other, ahead).loop.reconcile(signal);
    const one = replica(opened, clock);
    await pass(clock, LOOK_MS, [one]);
    const secret = await purge(opened);
    expect(sum(await pass(clock, MINUTE_MS - LOOK_MS, [one]))).toBe(1);
    expect(await isKept(opened, secret)).toBe(false);
  });

  test('after a failed compaction the next round compacts', async () => {
    await using opened = await open();
    const one = replica(opened, clock);
    const secret = await purge(opened);
    one.store.down.add('compact');
    await expect(one.loop.reconcile(signal)).rejects.toThrow(StoreUnavailable);
    expect(await isKept(opened, secret)).toBe(true);
    one.store.down.delete('compact');
    await pass(clock, LOOK_MS, [one]);
    expect(await isKept(opened, secret)).toBe(false);
  });

  test('a leader that dies as it compacts leaves the purge to the next one, which does it at once', async () => {
    await using opened = await open();
    const [dying, next] = [replica(opened, clock), replica(opened, clock)];
    const secret = await purge(opened);
    dying.store.down.add('compact');
    await expect(dying.loop.reconcile(signal)).rejects.toThrow(StoreUnavailable);
    await next.loop.reconcile(signal);
    expect(await isKept(opened, secret)).toBe(false);
  });

  test.each(['lost before commit', 'answer lost after commit'] as const)(
    'where the note of a turn is lost (%s), this leader does not compact again so soon',
    async (fate) => {
      await using opened = await open();
      const one = replica(opened, clock);
      const secret = await purge(opened);
      one.store.fates.push(fate);
      await expect(one.loop.reconcile(signal)).rejects.toThrow(StoreUnavailable);
      expect(await isKept(opened, secret)).toBe(false);
      await purge(opened);
      expect(sum(await pass(clock, 50_000 - LOOK_MS, [one]))).toBe(0);
      expect(sum(await pass(clock, LOOK_MS, [one]))).toBe(1);
    },
  );

  test('a note of a purge that cannot be read costs no compaction each round', async () => {
    await using opened = await open();
    const one = replica(opened, clock);
    const secret = await purge(opened);
    await opened.commit({
      expect: [expectAbsent('never')],
      write: [rawPut(KEYS.purge('0'), { damaged: true })],
    });
    for (let look = 0; look < 10; look += 1) {
      await expect(one.loop.reconcile(signal)).rejects.toThrow(KEYS.purge('0'));
      clock.advance(LOOK_MS);
    }
    expect([one.store.calls.compact, await isKept(opened, secret)]).toEqual([1, false]);
  });

  test('right after a long outage a purge is gone within a minute', async () => {
    await using opened = await open();
    const { store, loop } = replica(opened, clock);
    const stopping = new AbortController();
    const deps = { clock, log: createLog('silent'), metrics: { loopEnded: () => undefined } };
    const running = runLoop(deps, loop, stopping.signal);
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += LOOK_MS) {
        await until(() => clock.sleeping === 1);
        clock.advance(LOOK_MS);
        await nextTurn();
      }
      await until(() => clock.sleeping === 1);
    };
    store.outage(true);
    await pass(320_000);
    store.outage(false);
    const secret = await purge(opened);
    await pass(15_000);
    expect(await isKept(opened, secret)).toBe(false);
    stopping.abort();
    await running;
  });

  test('a former leader neither records a compaction nor counts purges', async () => {
    await using opened = await open();
    const fence = [expectRevision(KEYS.leader(), 1)];
    const metrics = createMetrics('test');
    const ex = purgeLoop({ store: opened, clock, metrics, compacts: true }, { fence, signal });
    await purge(opened);
    await ex.reconcile(signal);
    expect(await opened.get(KEYS.compaction())).toBeUndefined();
    expect((await opened.list({ prefix: KEYS.purge.under(), limit: 1 })).entries).toHaveLength(1);
  });

  test('never, where Muster may not compact it', async () => {
    await using opened = await open();
    const one = replica(opened, clock, false);
    const secret = await purge(opened);
    expect(sum(await pass(clock, 6 * MINUTE_MS, [one]))).toBe(0);
    expect(await isKept(opened, secret)).toBe(true);
    expect(await opened.get(KEYS.compaction())).toBeUndefined();
  });
});

test('an embedded store is compacted after a purge alone', async () => {
  await using opened = await openSqliteStore(':memory:');
  const clock = new FakeClock();
  const one = replica(opened, clock);
  expect(sum(await pass(clock, 12 * MINUTE_MS, [one]))).toBe(0);
  await purge(opened);
  expect(sum(await pass(clock, LOOK_MS, [one]))).toBe(1);
  expect(sum(await pass(clock, 12 * MINUTE_MS, [one]))).toBe(0);
});

test('an embedded store counts no purge as gone that a retained revision keeps', async () => {
  await using opened = await openSqliteStore(':memory:');
  await expectCountedLater(opened, new FakeClock());
});

test('an embedded store forgets a second purge in the next round, as its compaction took no time', async () => {
  await using opened = await openSqliteStore(':memory:');
  const clock = new FakeClock();
  const one = replica(opened, clock);
  for (let turn = 0; turn < 3; turn += 1) {
    const secret = await purge(opened);
    expect(sum(await pass(clock, LOOK_MS, [one]))).toBe(1);
    expect([await isKept(opened, secret), await notes(opened)]).toEqual([false, 0]);
  }
});

test.each([
  [1000, 20_000, 'it rests 19 times as long, and the rounds come every 5 s'],
  [60_000, 50_000, 'but no longer than an etcd does'],
])('an embedded store that compacts for %i ms compacts again after %i ms: %s', async (tookMs, restedMs) => {
  await using opened = await openSqliteStore(':memory:');
  const clock = new FakeClock();
  const one = replica(opened, clock);
  await purge(opened);
  one.store.intercept('compact', 'before', async () => clock.advance(tookMs));
  expect(sum(await pass(clock, LOOK_MS, [one]))).toBe(1);
  const secret = await purge(opened);
  expect(sum(await pass(clock, restedMs - LOOK_MS, [one]))).toBe(0);
  expect(sum(await pass(clock, LOOK_MS, [one]))).toBe(1);
  expect(await isKept(opened, secret)).toBe(false);
});
