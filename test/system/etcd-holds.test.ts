import { afterAll, beforeAll, describe, expect, test, type TestContext } from 'vitest';
import { openEtcdStore } from '../../src/store/etcd/etcd-store.ts';
import { present } from '../store/conformance/harness.ts';
import { held } from '../store/conformance/holds.ts';
import { record } from '../store/conformance/recorder.ts';
import { Leases } from '../store/etcd/lease/leases.ts';
import { eventually } from '../store/etcd/outage-calls.ts';
import { openWire, type Wire } from '../store/etcd/wire/wire.ts';
import { findEtcd, NO_ETCD } from '../support/etcd/etcd-binary.ts';
import { addUser } from '../support/etcd/etcd-users.ts';
import { EtcdCluster } from '../support/etcd/etcd.ts';
import type { TcpProxy } from '../support/etcd/tcp-proxy.ts';
import { timedVerdict } from '../support/run/timed-verdict.ts';
import { rawKey } from '../support/store/raw-key.ts';

const binary = findEtcd();
const skipped = binary === undefined ? ` [skipped: ${NO_ETCD}]` : '';
/** The least time to live that etcd grants with its default heartbeats. */
const TTL_MS = 2000;

/** Judges a holder that must act in time: it can only where it gets its turns of the processor. */
const timed =
  (attempt: () => Promise<void>) =>
  ({ task }: TestContext): Promise<void> =>
    timedVerdict(attempt, { task });

/* Each waits for leases that etcd itself lets expire; they do so side by side. */
describe.skipIf(binary === undefined)(`a hold on etcd${skipped}`, { concurrent: true }, () => {
  let cluster: EtcdCluster;
  let leases: Leases;

  beforeAll(async () => {
    cluster = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
    leases = new Leases(cluster.member.url);
  });
  afterAll(async () => {
    leases[Symbol.dispose]();
    await cluster[Symbol.asyncDispose]();
  });

  const wired = (): Promise<Wire> => openWire(cluster);

  function silence(proxy: TcpProxy): void {
    proxy.silence = 'everything';
    proxy.silenceFlows('everything');
  }

  test(
    'outlives its time to live as long as its holder renews it, rewritten or not',
    timed(async () => {
      await using wire = await wired();
      const { store, witness } = wire;
      const idle = await held(store.hold(rawKey('t/idle'), 'v', TTL_MS));
      const busy = await held(store.hold(rawKey('t/busy'), 'v', TTL_MS));
      expect(await busy.rewrite('w')).toBe('written');
      await leases.untilOneExpires(TTL_MS * 2);
      expect([idle.lost.aborted, busy.lost.aborted]).toEqual([false, false]);
      expect(await present(witness, 't/idle')).toMatchObject({ value: 'v', revision: idle.revision });
      expect(await present(witness, 't/busy')).toMatchObject({ value: 'w', revision: busy.revision });
    }),
  );

  test(
    'expires when its holder is cut off, who takes it for lost before etcd does',
    timed(async () => {
      await using wire = await wired();
      const { proxy, store, witness } = wire;
      const holder = await held(store.hold(rawKey('t/leader'), 'v', TTL_MS));
      using recording = await record(witness, 't/leader', holder.revision + 1);
      const order: string[] = [];
      holder.lost.addEventListener('abort', () => order.push('lost'));
      silence(proxy);
      await recording.recorder.untilChanges(1);
      order.push('expired');
      expect(order).toEqual(['lost', 'expired']);
      expect(recording.recorder.changes).toMatchObject([{ value: undefined }]);
      expect(await holder.rewrite('late')).toBe('lost');
      await held(witness.hold(rawKey('t/leader'), 'next', TTL_MS));
    }),
  );

  test(
    'is kept through a wire that fails for less than its time to live',
    timed(async () => {
      await using wire = await wired();
      const { proxy, store, witness } = wire;
      const holder = await held(store.hold(rawKey('t/leader'), 'v', 6000));
      proxy.silenceFlows('everything');
      // Granted later than the last renewal that went through: as long as this one lives, so would the other.
      await leases.untilOneExpires(6000);
      expect(holder.lost.aborted).toBe(false);
      expect(await present(witness, 't/leader')).toMatchObject({ revision: holder.revision });
    }),
  );

  test('expires when it could not be removed as its holder released it', async () => {
    await using wire = await wired();
    const { proxy, store, witness } = wire;
    const holder = await held(store.hold(rawKey('t/leader'), 'v', TTL_MS));
    using recording = await record(witness, 't/leader', holder.revision + 1);
    silence(proxy);
    await holder.release();
    await recording.recorder.untilChanges(1);
    expect(holder.lost.aborted).toBe(false);
  });
});

describe.skipIf(binary === undefined)(`a hold on an etcd that is started again${skipped}`, { concurrent: true }, () => {
  test('survives', async () => {
    await using cluster = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
    await using store = await openEtcdStore({ endpoints: cluster.urls, prefix: 'test/' });
    using leases = new Leases(cluster.member.url);
    const holder = await held(store.hold(rawKey('t/leader'), 'v', 20_000));
    await cluster.member.kill();
    await cluster.member.start();
    await eventually(() => holder.rewrite('w'));
    await eventually(() => leases.untilOneExpires(TTL_MS));
    expect(await present(store, 't/leader')).toMatchObject({ value: 'w', revision: holder.revision });
    expect(holder.lost.aborted).toBe(false);
  });

  test('survives the tokens of its user', async () => {
    await using cluster = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
    const auth = { username: 'muster', password: 'correct horse' };
    await addUser(cluster, auth, 'muster/');
    await using store = await openEtcdStore({ endpoints: cluster.urls, prefix: 'muster/', auth });
    const holder = await held(store.hold(rawKey('t/leader'), 'v', 20_000));
    await cluster.member.stop();
    await cluster.member.start();
    // The tokens are gone with the member: others are asked for.
    await eventually(() => holder.rewrite('x'));
    expect(await present(store, 't/leader')).toMatchObject({ value: 'x', revision: holder.revision });
    await holder.release();
    expect(await store.get('t/leader')).toBeUndefined();
  });
});
