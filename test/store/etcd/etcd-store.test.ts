import { KVClient } from 'etcd3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEtcdStore, type EtcdOptions } from '../../../src/store/etcd/etcd-store.ts';
import { Connection } from '../../../src/store/etcd/wire/channel.ts';
import { faultOfVersion } from '../../../src/store/etcd/wire/server-version.ts';
import { equals, type Comparable } from '../../../src/store/etcd/wire/txn.ts';
import { fill, makeRoom } from '../../chaos/cluster/etcd-admin.ts';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import { TcpProxy } from '../../support/etcd/tcp-proxy.ts';
import { simulatedTimers } from '../../support/time/simulated-timers.ts';
import { whileTimePasses } from './while-time-passes.ts';
import { until } from '../../support/time/until.ts';
import { storeConformance, type StoreUnderTest } from '../conformance/conformance.ts';
import { everything, keysOf, put, removeAll, writes } from '../conformance/harness.ts';
import { record } from '../conformance/recorder.ts';

const binary = findEtcd();

/** Generous: here nothing depends on when a call gives up, and the machine may be busy. */
const deadlineMs = 20_000;

describe.skipIf(binary === undefined)(binary === undefined ? `etcd [skipped: ${NO_ETCD}]` : 'etcd', () => {
  let cluster: EtcdCluster;
  let opened = 0;

  beforeAll(async () => {
    // Nothing here is about what survives a crash.
    cluster = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
  });
  afterAll(async () => cluster[Symbol.asyncDispose]());

  const freshPrefix = () => `test-${(opened += 1)}/`;
  const open = async (options: Partial<EtcdOptions> = {}) =>
    openEtcdStore({ endpoints: cluster.urls, prefix: freshPrefix(), deadlineMs, ...options });

  storeConformance('the promises of the port', async () => openUnderTest(cluster, freshPrefix()));

  describe('prefixes', () => {
    test('two stores in one etcd do not see each other', async () => {
      await using one = await open();
      await using other = await open();
      const start = await writes(one, put('t/a', 'one'));
      using recording = await record(other, '', start);
      await writes(one, put('t/b', 'one'), put('t/a', 'one again'));
      await writes(other, put('t/a', 'other'));
      await writes(one, removeAll('t/'));
      expect((await everything(other, 't/')).map(({ value }) => value)).toEqual(['other']);
      const { revision } = await other.head();
      await recording.recorder.untilChanges(2);
      expect(recording.recorder.changes.map(({ key }) => key).toSorted()).toEqual(['d/head', 't/a']);
      expect(recording.recorder.batches).toMatchObject([{ revision }]);
    });

    test('foreign writes move the revision of the store and disturb nothing', async () => {
      await using store = await open();
      await using foreign = await open();
      const first = await writes(store, put('t/a'));
      const head = await store.head();
      using recording = await record(store, '', first + 1);
      for (let index = 0; index < 10; index += 1) await writes(foreign, put(`t/${index}`));
      expect((await store.list({ prefix: '', limit: 1 })).revision).toBeGreaterThanOrEqual(first + 10);
      expect(await store.head()).toEqual(head);
      const second = await writes(store, put('t/b'));
      await recording.recorder.untilChanges(2);
      expect(recording.recorder.batches.map(({ revision }) => revision)).toEqual([second]);
    });

    test.each(['fleet', '/fleet/é/', 'fleet/a'])('%s is not a prefix: it would reach beyond itself', async (prefix) => {
      await expect(open({ prefix })).rejects.toThrow(RangeError);
    });

    test('without a prefix the store has etcd for itself', async () => {
      await using store = await open({ prefix: '' });
      await writes(store, put('zz/a'), put('zz/b'));
      expect(keysOf(await store.list({ prefix: '', after: 'zz/a', limit: 1000 }))).toEqual(['zz/b']);
      expect(keysOf(await store.list({ prefix: '', after: 'zy', limit: 1 }))).toEqual(['zz/a']);
      await writes(store, removeAll('zz/'));
    });
  });

  describe('size', () => {
    const VALUE = 'x'.repeat(11_000);
    const KEYS = Array.from({ length: 120 }, (_, index) => `t/${String(index).padStart(3, '0')}`);

    test('a watch from the past sees large revisions whole, and none twice', async () => {
      await using store = await open();
      const start = await writes(store, put('t/start'));
      const revisions: number[] = [];
      for (let index = 0; index < 6; index += 1) {
        revisions.push(await writes(store, ...KEYS.map((key) => put(key, VALUE))));
      }
      using recording = await record(store, 't/', start + 1);
      const { recorder } = recording;
      await recorder.untilChanges(6 * KEYS.length);
      for (const revision of revisions) {
        const batches = recorder.batches.filter(({ changes }) =>
          changes.some((change) => change.revision === revision),
        );
        const [batch] = batches;
        expect(batches).toHaveLength(1);
        expect(batch?.changes.filter((change) => change.revision === revision)).toHaveLength(KEYS.length);
      }
      expect(recorder.misconduct).toEqual([]);
      expect(recorder.ends).toEqual([]);
    });

    test('a page may be larger than what gRPC receives by default', async () => {
      await using store = await open();
      for (let index = 0; index < 5; index += 1) {
        await writes(store, ...KEYS.map((key) => put(`${key}-${index}`, VALUE)));
      }
      const page = await store.list({ prefix: 't/', limit: 1000 });
      expect(page.entries).toHaveLength(5 * KEYS.length);
    });

    test('a commit larger than etcd takes is a failure and not a full store', async () => {
      await using store = await open();
      const large = writes(store, put('t/a', 'x'.repeat(3_000_000)));
      await expect(large).rejects.toMatchObject({ name: 'StoreUnavailable', reason: 'failed' });
      expect(await store.get('t/a')).toBeUndefined();
    });
  });

  test('fullness is what is in use of the quota that etcd has, whatever is configured', async () => {
    await using store = await open({ quotaBytes: 1 });
    expect(store.fullness()).toBeGreaterThan(0);
    // The default of etcd is 2 GiB.
    expect(store.fullness()).toBeLessThan(0.5);
  });

  test('an etcd without space refuses what grows it as full; room that an operator makes is noticed, and used', async () => {
    using timers = simulatedTimers();
    const flags = ['--quota-backend-bytes=4000000'];
    await using small = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true, flags });
    await fill(small.member);
    await using store = await open({ endpoints: small.urls });
    await expect(writes(store, put('t/more'))).rejects.toMatchObject({ name: 'StoreUnavailable', reason: 'full' });
    expect(await store.head()).toMatchObject({ revision: 0 });
    expect(store.fullness()).toBe(1);
    await makeRoom(small);
    await timers.advance(1000);
    await until(() => store.fullness() < 0.5);
    expect(await writes(store, put('t/again', 'x'))).toBeGreaterThan(0);
  });

  describe('comparisons', () => {
    // The comparison that `equals` would make if it let an unknown string through.
    const unknown = { key: Buffer.from('never'), result: 'Equal', target: 'CREATE', create_revision: 5 } as object;

    test('npm etcd3 encodes an unknown target as another one, and the fence fails open', async () => {
      const connection = new Connection('KV', cluster.member.url, undefined);
      const kv = new KVClient(connection);
      const { succeeded } = await kv.txn({ compare: [unknown], success: [], failure: [] });
      connection.close();
      expect(succeeded).toBe(true);
    });

    test('ours refuses it, and the right one holds', async () => {
      expect(() => equals(Buffer.from('never'), 'CREATE' as Comparable, 5)).toThrow(RangeError);
      const connection = new Connection('KV', cluster.member.url, undefined);
      const kv = new KVClient(connection);
      for (const what of ['Create', 'Mod', 'Version'] as const) {
        const holds = async (operand: number) => kv.txn({ compare: [equals(Buffer.from('never'), what, operand)] });
        expect([(await holds(5)).succeeded, (await holds(0)).succeeded]).toEqual([false, true]);
      }
      connection.close();
    });
  });

  describe('versions', () => {
    test('one whose reads may be stale is refused in words', async () => {
      const opening = open({ readVersion: async () => '3.6.8' });
      await expect(opening).rejects.toThrow(
        /etcd 3\.6\.8 may serve stale linearizable reads.*Upgrade etcd to .*3\.6\.9/,
      );
    });

    test('it may be allowed, with a warning', async () => {
      const warnings: string[] = [];
      await using store = await open({
        readVersion: async () => '3.5.27',
        allowOldVersion: true,
        warn: (message) => warnings.push(message),
      });
      expect(store.backend).toBe('etcd');
      expect(warnings).toEqual([expect.stringContaining('3.5.27')]);
    });

    test('one that cannot be told is a warning, one that will do is not', async () => {
      const warnings: string[] = [];
      const warn = (message: string) => warnings.push(message);
      await using unknown = await open({ readVersion: async () => undefined, warn });
      expect(warnings).toHaveLength(1);
      await using known = await open({ warn });
      expect(warnings).toHaveLength(1);
      expect([unknown.backend, known.backend]).toEqual(['etcd', 'etcd']);
    });
  });

  test('a fault that one attempt to open finds is thrown at once', async () => {
    using _ = simulatedTimers();
    // The connection is refused by the system itself, which has hundreds of turns of the event loop for it by then.
    const elsewhere = { endpoints: ['http://127.0.0.1:1'], deadlineMs: 3000 };
    await expect(whileTimePasses(open(elsewhere))).rejects.toMatchObject({
      reason: 'unreachable',
      message: expect.stringMatching(/127\.0\.0\.1:1.*ECONNREFUSED/) as string,
    });
  });
});

describe('versions of etcd', () => {
  test.each([
    ['3.4.40', false, 'no 3.4 has the repair'],
    ['3.5.27', false, 'the last of 3.5 without it'],
    ['3.5.28', true, 'the first of 3.5 with it'],
    ['3.6.8', false, 'the last of 3.6 without it'],
    ['3.6.9', true, 'the first of 3.6 with it'],
    ['3.6.10', true, 'numbers, not text'],
    ['3.7.0', true, 'every later line has it'],
    ['3.7.0-rc.1', true, 'also before its release'],
    ['3.10.0', true, 'a line of two digits'],
    ['4.0.0', true, 'a later major version'],
    ['nonsense', false, 'not a version'],
  ])('%s will do: %s (%s)', (version, willDo) => {
    expect(faultOfVersion(version) === undefined).toBe(willDo);
  });
});

describe('addresses of etcd', () => {
  test.each([
    ['no endpoint', []],
    ['no protocol', ['127.0.0.1:2379']],
    ['no port', ['http://127.0.0.1']],
    ['another protocol', ['ftp://127.0.0.1:2379']],
    ['a mixture', ['http://a:2379', 'https://b:2379']],
    ['a path', ['http://a:2379/v3']],
    ['a password', ['http://user:secret-password@a:2379']],
  ])('%s is refused, without repeating it', async (_, endpoints) => {
    const opening = openEtcdStore({ endpoints, prefix: '' });
    await expect(opening).rejects.toThrow(RangeError);
    await expect(opening).rejects.not.toThrow('secret-password');
  });
});

async function openUnderTest(cluster: EtcdCluster, prefix: string): Promise<StoreUnderTest> {
  const proxy = await TcpProxy.before(cluster.member.port);
  const open = async () => openEtcdStore({ endpoints: [proxy.url], prefix, deadlineMs });
  const store = await open();
  const stores = [store];
  const more = async () => {
    const another = await open();
    stores.push(another);
    return another;
  };
  // Watches have a connection of their own, which the first watch opens: it is not among these.
  const others = new Set(proxy.flows);
  return {
    store,
    again: more,
    sever: () => proxy.cut((flow) => !others.has(flow)),
    async reopen() {
      await store[Symbol.asyncDispose]();
      return more();
    },
    async [Symbol.asyncDispose]() {
      for (const each of stores) await each[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
    },
  };
}
