import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deadlineIn } from '../../../src/store/etcd/wire/deadline.ts';
import { openEndpoints, type Endpoint } from '../../../src/store/etcd/wire/endpoints.ts';
import { StoreUnavailable, type Store, type StoreTrouble } from '../../../src/store/port.ts';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import { TcpProxy } from '../../support/etcd/tcp-proxy.ts';
import { simulatedTimers, type SimulatedTimers } from '../../support/time/simulated-timers.ts';
import { until } from '../../support/time/until.ts';
import { absent, everything, present, put, writes, writing } from '../conformance/harness.ts';
import { record, Recorder } from '../conformance/recorder.ts';
import { eventually, everyCallEnds } from './outage-calls.ts';
import { whileTimePasses } from './while-time-passes.ts';
import { openWire, type Wire } from './wire/wire.ts';

const binary = findEtcd();
const skipped = binary === undefined ? ` [skipped: ${NO_ETCD}]` : '';
const DEADLINE_MS = 1000;
/** The effects of simulated time are there after as many checks; an effect that is not would hang. */
const LOOKS_MAX = 2000;
/** gRPC tries to connect again after a second at the latest, and a fifth of it. */
const BACKOFF_MS = 1200;

/* test/system/etcd-outage.test.ts shows what etcd does when it is killed or frozen, in real time. */
describe.skipIf(binary === undefined)(`a wire to etcd that fails${skipped}`, () => {
  let cluster: EtcdCluster;

  beforeAll(async () => {
    cluster = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  const wired = (deadlineMs = DEADLINE_MS): Promise<Wire> => openWire(cluster, deadlineMs);

  /** How every call ends, none of them later than its deadline. */
  async function endsInTime(store: Store, timers: SimulatedTimers): Promise<Record<string, unknown>> {
    let ends: Record<string, unknown> | undefined;
    void everyCallEnds(store).then((all) => (ends = all));
    await timers.advance(DEADLINE_MS);
    let looks = 0;
    await until(() => ends !== undefined || (looks += 1) > LOOKS_MAX);
    return ends ?? expect.unreachable('each call has ended by its deadline');
  }

  test('a commit whose answer is lost in silence times out, and its marker is found', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store, witness } = wire;
    proxy.silenceFlows('answers');
    const commit = endOf(store.commit(writing(put('t/marker', 'mine'))));
    await until(async () => (await witness.get('t/marker')) !== undefined);
    await timers.advance(DEADLINE_MS - 1);
    expect(commit.end).toBe('none yet');
    await timers.advance(1);
    await until(() => commit.end === 'timeout');
    // The old connection stays silent: the store finds itself a new one.
    expect((await whileTimePasses(eventually(() => present(store, 't/marker')))).value).toBe('mine');
  });

  test('a commit whose answer is cut off is not sent again: that would meet itself and call it a conflict', async () => {
    using _ = simulatedTimers();
    await using wire = await wired();
    const { proxy, store, witness } = wire;
    proxy.silenceFlows('answers');
    const commit = endOf(store.commit({ expect: [absent('t/marker')], write: [put('t/marker', 'mine')] }));
    await until(async () => (await witness.get('t/marker')) !== undefined);
    proxy.cut();
    await until(() => commit.end !== 'none yet');
    expect(commit.end).toBe('unreachable');
    expect((await whileTimePasses(eventually(() => present(store, 't/marker')))).value).toBe('mine');
  });

  test('a commit that finds no connection waits for one, since nothing was sent yet', async () => {
    using timers = simulatedTimers();
    await using wire = await wired(6 * DEADLINE_MS);
    const { proxy, store } = wire;
    await proxy.refuse();
    await untilUnreachable(store);
    const commit = store.commit(writing(put('t/a')));
    await proxy.accept();
    await timers.advance(BACKOFF_MS);
    expect(await whileTimePasses(commit)).toMatchObject({ outcome: 'committed' });
  });

  test('a read whose connection is cut is read again', async () => {
    using _ = simulatedTimers();
    await using wire = await wired();
    const { proxy, store } = wire;
    await writes(store, put('t/a'));
    const asked = Promise.withResolvers<void>();
    proxy.silenceFlows('answers');
    proxy.heard = () => asked.resolve();
    const read = store.get('t/a');
    await asked.promise;
    proxy.cut();
    expect(await whileTimePasses(read)).toMatchObject({ value: 'v' });
  });

  test('every call ends when nothing goes through, on old connections and on new ones', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store } = wire;
    proxy.silence = 'everything';
    proxy.silenceFlows('everything');
    expect(await endsInTime(store, timers)).toEqual(all('timeout'));
    expect(await endsInTime(store, timers)).toEqual(all('unreachable'));
    const recorder = new Recorder();
    store.watch('t/', 1, recorder);
    await timers.advance(DEADLINE_MS);
    await recorder.untilEnd();
    expect(recorder.ends).toEqual(['disconnected']);
    proxy.silence = 'none';
    await whileTimePasses(eventually(() => writes(store, put('t/a'))));
    using recording = await whileTimePasses(record(store, 't/', 1));
    await recording.recorder.untilChanges(1);
  });

  test('every call ends while connections are refused, and all is well when they are not', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store } = wire;
    await writes(store, put('t/before'));
    await proxy.refuse();
    await untilUnreachable(store);
    expect(await endsInTime(store, timers)).toEqual(all('unreachable'));
    await proxy.accept();
    await timers.advance(BACKOFF_MS);
    await whileTimePasses(eventually(() => writes(store, put('t/after'))));
    using recording = await whileTimePasses(record(store, 't/', 1));
    await recording.recorder.untilChanges(2);
  });

  test('a watch that is not confirmed ends, and the next one does not try the same connection', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store } = wire;
    const start = await writes(store, put('t/a'));
    proxy.silence = 'everything';
    const recorder = new Recorder();
    store.watch('t/', start, recorder);
    await timers.advance(DEADLINE_MS - 1);
    expect(recorder.ends).toEqual([]);
    await timers.advance(1);
    expect(recorder.ends).toEqual(['disconnected']);
    // The connection for reads was opened before, and is none the worse.
    expect(await store.head()).toBeDefined();
    proxy.silence = 'none';
    using recording = await record(store, 't/', start);
    await recording.recorder.untilChanges(1);
  });

  test('a watch whose flow is dropped silently ends within nine seconds, and the next one has missed nothing', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store, witness } = wire;
    const start = await writes(witness, put('t/0'));
    using recording = await record(store, 't/', start + 1);
    const first = await writes(witness, put('t/1'));
    await recording.recorder.untilChanges(1);
    proxy.silenceFlows('everything');
    const silentSince = Date.now();
    const second = await writes(witness, put('t/2'));
    await timers.advance(8000);
    expect(recording.recorder.ends).toEqual([]);
    await timers.advance(1000);
    await until(() => recording.recorder.ends.length > 0 || Date.now() >= silentSince + 9000);
    expect(recording.recorder.ends).toEqual(['disconnected']);
    expect(recording.recorder.changes).toMatchObject([{ revision: first }]);
    using resumed = await whileTimePasses(record(store, 't/', first + 1));
    await resumed.recorder.untilChanges(1);
    expect(resumed.recorder.changes).toMatchObject([{ key: 't/2', revision: second }]);
  });

  test('a slow wire is slow and nothing else', async () => {
    using _ = simulatedTimers();
    await using wire = await wired();
    const { proxy, store } = wire;
    proxy.delayMs = 20;
    const revision = await whileTimePasses(writes(store, put('t/a')));
    using recording = await whileTimePasses(record(store, 't/', revision));
    await whileTimePasses(recording.recorder.untilChanges(1));
    expect(await whileTimePasses(store.head())).toMatchObject({ revision });
    expect(await whileTimePasses(everything(store, 't/'))).toHaveLength(1);
    proxy.delayMs = 0;
  });

  test('a connection that hangs while it is made is given up in time for another one', async () => {
    await using proxy = await TcpProxy.before(cluster.member.port);
    const heard = Promise.withResolvers<void>();
    proxy.silence = 'everything';
    proxy.heard = () => heard.resolve();
    using timers = simulatedTimers();
    const endpoints = openEndpoints({ urls: [proxy.url], tls: undefined, user: undefined, deadlineMs: 60_000 });
    const [endpoint] = endpoints.all;
    const connected = endpoint?.connect(deadlineIn(30_000));
    await heard.promise;
    proxy.silence = 'none';
    await timers.advance(14_999);
    expect(endpoint?.isReady).toBe(false);
    await timers.advance(1);
    expect(await connected).toBeUndefined();
    expect(endpoint?.isReady).toBe(true);
    endpoints.close();
    proxy.cut();
  });

  test('an endpoint that answers and cannot serve is left: reads go on elsewhere, a commit is not sent again', async () => {
    await using one = await TcpProxy.before(cluster.member.port);
    await using other = await TcpProxy.before(cluster.member.port);
    const urls = [cluster.member.url, one.url, other.url];
    const deadlineMs = 20_000;
    const endpoints = openEndpoints({ urls, tls: undefined, user: undefined, deadlineMs });
    const failing = (tried: string[], failures: number) => async (endpoint: Endpoint) => {
      tried.push(endpoint.url);
      const trouble = { code: 14, details: 'etcdserver: no leader' };
      if (tried.length <= failures) throw Object.assign(new Error('from gRPC'), trouble);
    };
    await Promise.all(endpoints.all.map((endpoint) => endpoint.connect(deadlineIn(deadlineMs))));
    const reads: string[] = [];
    await endpoints.repeatedly('read', failing(reads, 2));
    expect(reads.toSorted()).toEqual(urls.toSorted());
    const commits: string[] = [];
    await expect(endpoints.once('commit', failing(commits, 1))).rejects.toMatchObject({ reason: 'unreachable' });
    await endpoints.once('commit', failing(commits, 1));
    expect(commits).toEqual([reads[2], reads[0]]);
    endpoints.close();
  });
});

/** The reason with which a call failed, once it has; or that it succeeded. */
function endOf(call: Promise<unknown>): { readonly end: string } {
  const told = { end: 'none yet' };
  call.then(
    () => (told.end = 'success'),
    (error: unknown) => (told.end = error instanceof StoreUnavailable ? error.reason : String(error)),
  );
  return told;
}

/** A read finds that the connection is gone, pauses, asks again and gives up; calls after it find no connection. */
async function untilUnreachable(store: Store): Promise<void> {
  // Time goes no faster than the refused connections come back: else it could be over before.
  await expect(whileTimePasses(store.head())).rejects.toMatchObject({ reason: 'unreachable' });
}

/** The same reason for every call. */
function all(reason: StoreTrouble): Record<string, unknown> {
  return Object.fromEntries(CALLS.map((call) => [call, reason]));
}

const CALLS = ['get', 'list', 'listAt', 'commit', 'head', 'headAt', 'compact', 'hold'];
