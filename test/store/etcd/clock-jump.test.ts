import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { StoreUnavailable, type Store } from '../../../src/store/port.ts';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import { simulatedTimers, type SimulatedTimers } from '../../support/time/simulated-timers.ts';
import { until } from '../../support/time/until.ts';
import { jumpWallClock } from '../../support/time/wall-clock-jump.ts';
import { absent, put } from '../conformance/harness.ts';
import { eventually, everyCallEnds } from './outage-calls.ts';
import { whileTimePasses } from './while-time-passes.ts';
import { openWire, type Wire } from './wire/wire.ts';

const binary = findEtcd();
const DEADLINE_MS = 1000;
const HOUR_MS = 3_600_000;
/** gRPC tries to connect again after a second at the latest, and a fifth of it. */
const BACKOFF_MS = 1200;
/** More than go into one request, so that some are under way and others wait behind them. */
const COMMITS = 100;
const STEP_MS = 10;

/** The simulated time at which each of them ended, and how. */
function ends(calls: readonly Promise<unknown>[]): { readonly end: string; readonly afterMs: number }[] {
  const [all, since] = [new Array<{ end: string; afterMs: number }>(), performance.now()];
  const ended = (end: string): void => void all.push({ end, afterMs: performance.now() - since });
  for (const call of calls) {
    call.then(
      () => ended('success'),
      (error: unknown) => ended(error instanceof StoreUnavailable ? error.reason : String(error)),
    );
  }
  return all;
}

const creates = (store: Store, name: string, count: number): Promise<unknown>[] =>
  Array.from({ length: count }, (_, n) =>
    store.commit({ expect: [absent(`t/${name}${n}`)], write: [put(`t/${name}${n}`)] }),
  );

/** Simulated time goes on in small steps until all have ended, or twice the deadline has passed. */
async function untilAll(found: readonly unknown[], count: number, timers: SimulatedTimers) {
  for (let ms = 0; ms < 2 * DEADLINE_MS && found.length < count; ms += STEP_MS) {
    await timers.advance(STEP_MS);
    for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

describe.skipIf(binary === undefined).each([
  ['forwards', HOUR_MS],
  ['back', -HOUR_MS],
])(`the wall clock jumps %s by an hour${binary ? '' : ` [skipped: ${NO_ETCD}]`}`, (_direction, jumpMs) => {
  let cluster: EtcdCluster;

  beforeAll(async () => {
    cluster = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  const wired = (): Promise<Wire> => openWire(cluster, DEADLINE_MS);

  test('as soon as commits are issued, and while they are under way: all of them are committed', async () => {
    using _ = simulatedTimers();
    await using wire = await wired();
    const { proxy, store } = wire;
    const heard = Promise.withResolvers<void>();
    proxy.delayMs = 20;
    proxy.heard = () => heard.resolve();
    const first = creates(store, 'a', COMMITS);
    jumpWallClock(jumpMs);
    await heard.promise;
    const second = creates(store, 'b', COMMITS);
    jumpWallClock(jumpMs);
    const found = ends([...first, ...second]);
    await whileTimePasses(Promise.allSettled([...first, ...second]));
    expect(new Set(found.map(({ end }) => end))).toEqual(new Set(['success']));
    expect(Math.max(...found.map(({ afterMs }) => afterMs))).toBeLessThan(DEADLINE_MS);
    proxy.delayMs = 0;
  });

  test('while commits wait in vain for an answer, or for their turn: each of them ends at its deadline', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store, witness } = wire;
    proxy.silenceFlows('answers');
    const commits = creates(store, '', COMMITS);
    const found = ends(commits);
    jumpWallClock(jumpMs);
    await until(async () => (await witness.get('t/0')) !== undefined);
    jumpWallClock(jumpMs);
    await timers.advance(DEADLINE_MS - 1);
    expect(found).toEqual([]);
    await timers.advance(1);
    await Promise.allSettled(commits);
    expect(found).toHaveLength(COMMITS);
    expect(new Set(found.map(({ end, afterMs }) => `${end} after ${Math.round(afterMs)}`))).toEqual(
      new Set([`timeout after ${DEADLINE_MS}`]),
    );
  });

  test('while commits wait for a connection: they are sent when it stands', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store } = wire;
    await proxy.refuse();
    // The read finds out that the connection is gone; it pauses in real time before it reads again.
    const gone = ends([store.head()]);
    await until(async () => {
      await timers.advance(100);
      return gone.length > 0;
    });
    expect(gone).toMatchObject([{ end: 'unreachable' }]);
    const failed = creates(store, 'in vain', 3);
    const early = ends(failed);
    jumpWallClock(jumpMs);
    await untilAll(early, 3, timers);
    expect(early.map(({ end }) => end)).toEqual(['unreachable', 'unreachable', 'unreachable']);
    expect(Math.max(...early.map(({ afterMs }) => afterMs))).toBeLessThanOrEqual(DEADLINE_MS);
    await proxy.accept();
    jumpWallClock(jumpMs);
    await timers.advance(BACKOFF_MS);
    await whileTimePasses(eventually(() => Promise.all(creates(store, `again${performance.now()}-`, 3))));
  });

  test('while nothing goes through: every call of the port ends by its deadline', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store } = wire;
    proxy.silence = 'everything';
    proxy.silenceFlows('everything');
    for (const reason of ['timeout', 'unreachable']) {
      const calls = everyCallEnds(store);
      const found = ends([calls]);
      jumpWallClock(jumpMs);
      await untilAll(found, 1, timers);
      expect(found).toMatchObject([{ end: 'success' }]);
      expect(found[0]?.afterMs).toBeLessThanOrEqual(DEADLINE_MS + STEP_MS);
      expect(new Set(Object.values(await calls))).toEqual(new Set([reason]));
    }
  });
});
