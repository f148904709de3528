import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Endpoint, openEndpoints } from '../../src/store/etcd-endpoints.ts';
import { openEtcdStore } from '../../src/store/etcd.ts';
import { type Store, type StoreTrouble, StoreUnavailable } from '../../src/store/port.ts';
import { findEtcd, NO_ETCD } from '../support/etcd-binary.ts';
import { EtcdCluster } from '../support/etcd.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { absent, present, put, writes, writing } from './conformance/harness.ts';
import { record, Recorder } from './conformance/recorder.ts';

const binary = findEtcd();
const prefix = 'test/';

/** As often as it takes; each try has the deadline of the store. */
async function eventually<T>(run: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || error.reason === 'closed') throw error;
    }
  }
}

/** Every call of the port, and the reason with which it ended, or what it answered instead. */
async function everyCallEnds(store: Store): Promise<Record<string, unknown>> {
  const calls: Record<string, () => Promise<unknown>> = {
    get: async () => store.get('t/a'),
    list: async () => store.list({ prefix: '', limit: 1 }),
    listAt: async () => store.listAt({ prefix: '', limit: 1 }, 1),
    commit: async () => store.commit(writing(put('t/a'))),
    head: async () => store.head(),
    headAt: async () => store.headAt(1),
    compact: async () => store.compact(1),
    hold: async () => store.hold('t/held', 'v', 1000),
  };
  const ends: Record<string, unknown> = {};
  for (const [name, call] of Object.entries(calls)) {
    ends[name] = await call().catch((error: unknown) => (error instanceof StoreUnavailable ? error.reason : error));
  }
  return ends;
}

/** One of the reasons for every call. */
function all(...reasons: StoreTrouble[]): Record<string, unknown> {
  const reason = expect.toBeOneOf(reasons) as unknown;
  return {
    get: reason,
    list: reason,
    listAt: reason,
    commit: reason,
    head: reason,
    headAt: reason,
    compact: reason,
    hold: reason,
  };
}

describe.skipIf(binary === undefined)(`a wire to etcd that fails${binary ? '' : ` [skipped: ${NO_ETCD}]`}`, () => {
  let cluster: EtcdCluster;
  let proxy: TcpProxy;
  /** Over the wire, with a short deadline. */
  let store: Store;
  /** Beside the wire. */
  let witness: Store;

  beforeEach(async () => {
    cluster = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
    proxy = await TcpProxy.before(cluster.member.port);
    store = await openEtcdStore({ endpoints: [proxy.url], prefix, deadlineMs: 1000 });
    witness = await openEtcdStore({ endpoints: cluster.urls, prefix, deadlineMs: 20_000 });
  });
  afterEach(async () => {
    await store[Symbol.asyncDispose]();
    await witness[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  });

  test('a commit whose answer is lost in silence times out, and its marker is found', async () => {
    proxy.silenceFlows('answers');
    await expect(store.commit(writing(put('t/marker', 'mine')))).rejects.toMatchObject({ reason: 'timeout' });
    // The old connection stays silent: the store finds itself a new one.
    expect((await eventually(async () => present(store, 't/marker'))).value).toBe('mine');
    expect((await present(witness, 't/marker')).value).toBe('mine');
  });

  test('a commit whose answer is cut off is not sent again: that would meet itself and call it a conflict', async () => {
    const start = await writes(witness, put('t/start'));
    using recording = await record(witness, 't/', start + 1);
    proxy.silenceFlows('answers');
    const commit = store.commit({ expect: [absent('t/marker')], write: [put('t/marker', 'mine')] });
    const settled = commit.then(
      ({ outcome }) => outcome,
      (error: StoreUnavailable) => error.name,
    );
    await recording.recorder.untilChanges(1);
    proxy.cut();
    expect(await settled).toBe('StoreUnavailable');
    expect((await eventually(async () => present(store, 't/marker'))).value).toBe('mine');
  });

  test('a commit that finds no connection waits for one, since nothing was sent yet', async () => {
    await using patient = await openEtcdStore({ endpoints: [proxy.url], prefix, deadlineMs: 6000 });
    await proxy.refuse();
    await expect(patient.head()).rejects.toMatchObject({ reason: 'unreachable' });
    const commit = patient.commit(writing(put('t/a')));
    await proxy.accept();
    expect(await commit).toMatchObject({ outcome: 'committed' });
  });

  test('a read whose connection is cut is read again', async () => {
    await writes(store, put('t/a'));
    proxy.silenceFlows('answers');
    const read = store.get('t/a');
    proxy.cut();
    expect(await read).toMatchObject({ value: 'v' });
  });

  test('every call ends when nothing goes through, on old connections and on new ones', async () => {
    proxy.silence = 'everything';
    proxy.silenceFlows('everything');
    expect(await everyCallEnds(store)).toEqual(all('timeout', 'unreachable'));
    const recorder = new Recorder();
    store.watch('t/', 1, recorder);
    await recorder.untilEnd();
    expect(recorder.ends).toEqual(['disconnected']);
    proxy.silence = 'none';
    await eventually(async () => store.commit(writing(put('t/a'))));
    using recording = await record(store, 't/', 1);
    await recording.recorder.untilChanges(1);
  });

  test('a watch that is not confirmed ends, and the next one does not try the same connection', async () => {
    const start = await writes(store, put('t/a'));
    proxy.silence = 'everything';
    const recorder = new Recorder();
    store.watch('t/', start, recorder);
    await recorder.untilEnd();
    expect(recorder.ends).toEqual(['disconnected']);
    // The connection for reads was opened before, and is none the worse.
    expect(await store.head()).toBeDefined();
    proxy.silence = 'none';
    using recording = await record(store, 't/', start);
    await recording.recorder.untilChanges(1);
  });

  test('every call ends while etcd is down, and all is well when it is back, with what was acknowledged', async () => {
    await writes(store, put('t/acknowledged'));
    await cluster.member.kill();
    expect(await everyCallEnds(store)).toEqual(all('unreachable'));
    await cluster.member.start();
    await eventually(async () => writes(store, put('t/after')));
    expect(await present(store, 't/acknowledged')).toMatchObject({ value: 'v' });
    using recording = await record(store, 't/', 1);
    await recording.recorder.untilChanges(2);
  });

  test('every call ends while etcd is frozen', async () => {
    cluster.member.freeze();
    expect(await everyCallEnds(store)).toEqual(all('timeout', 'unreachable'));
    cluster.member.thaw();
    await eventually(async () => store.head());
  });

  test('a watch whose flow is dropped silently ends, and the next one has missed nothing', async () => {
    const start = await writes(witness, put('t/0'));
    using recording = await record(store, 't/', start + 1);
    const first = await writes(witness, put('t/1'));
    await recording.recorder.untilChanges(1);
    proxy.silenceFlows('everything');
    const second = await writes(witness, put('t/2'));
    await recording.recorder.untilEnd();
    expect(recording.recorder.ends).toEqual(['disconnected']);
    expect(recording.recorder.changes).toMatchObject([{ revision: first }]);
    using resumed = await record(store, 't/', first + 1);
    await resumed.recorder.untilChanges(1);
    expect(resumed.recorder.changes).toMatchObject([{ key: 't/2', revision: second }]);
  });

  test('a slow wire is slow and nothing else', async () => {
    proxy.delayMs = 40;
    const revision = await writes(store, put('t/a'));
    using recording = await record(store, 't/', revision);
    await recording.recorder.untilChanges(1);
    expect(await store.head()).toMatchObject({ revision });
  });
});

describe.skipIf(binary === undefined)(`three members of etcd${binary ? '' : ` [skipped: ${NO_ETCD}]`}`, () => {
  let cluster: EtcdCluster;
  beforeEach(async () => {
    cluster = await EtcdCluster.start({ binary: binary ?? '', members: 3, unsafeNoFsync: true });
  });
  afterEach(async () => cluster[Symbol.asyncDispose]());

  test('reads and commits go on without any one of them, killed or frozen', async () => {
    await using store = await openEtcdStore({ endpoints: cluster.urls, prefix });
    for (const [index, member] of cluster.members.entries()) {
      await member.kill();
      await eventually(async () => writes(store, put(`t/killed/${index}`)));
      await member.start();
      member.freeze();
      await eventually(async () => writes(store, put(`t/frozen/${index}`)));
      member.thaw();
    }
    for (const member of cluster.members) {
      await using alone = await openEtcdStore({ endpoints: [member.url], prefix });
      expect((await alone.list({ prefix: 't/', limit: 10 })).entries).toHaveLength(6);
    }
  });

  test('a member that answers and cannot serve is left: reads go on elsewhere, a commit is not sent again', async () => {
    const endpoints = openEndpoints({ urls: cluster.urls, tls: undefined, user: undefined, deadlineMs: 5000 });
    const failing = (tried: string[], failures: number) => async (endpoint: Endpoint) => {
      tried.push(endpoint.url);
      const trouble = { code: 14, details: 'etcdserver: no leader' };
      if (tried.length <= failures) throw Object.assign(new Error('from gRPC'), trouble);
    };
    await Promise.all(endpoints.all.map(async (endpoint) => endpoint.connect(Date.now() + 5000)));
    const reads: string[] = [];
    await endpoints.repeatedly('read', failing(reads, 2));
    expect(reads.toSorted()).toEqual(cluster.urls.toSorted());
    const commits: string[] = [];
    await expect(endpoints.once('commit', failing(commits, 1))).rejects.toMatchObject({ reason: 'unreachable' });
    await endpoints.once('commit', failing(commits, 1));
    expect(commits).toEqual([reads[2], reads[0]]);
    endpoints.close();
  });

  test('a member cut off from its peers ends its watches instead of leaving them silent', async () => {
    const [kept, ...others] = cluster.members;
    await using store = await openEtcdStore({ endpoints: [kept?.url ?? ''], prefix });
    using recording = await record(store, 't/', 1);
    await Promise.all(others.map(async (member) => member.kill()));
    await recording.recorder.untilEnd();
    expect(recording.recorder.ends).toEqual(['disconnected']);
  });
});
