import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEtcdStore } from '../../../../src/store/etcd/etcd-store.ts';
import { findEtcd, NO_ETCD } from '../../../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../../../support/etcd/etcd.ts';
import { simulatedTimers } from '../../../support/time/simulated-timers.ts';
import { until } from '../../../support/time/until.ts';
import { present, put, remove, writes } from '../../conformance/harness.ts';
import { held } from '../../conformance/holds.ts';
import { whileTimePasses } from '../while-time-passes.ts';
import { openWire, type Wire } from '../wire/wire.ts';
import { Leases } from './leases.ts';
import { rawKey } from '../../../support/store/raw-key.ts';

const binary = findEtcd();
const skipped = binary === undefined ? ` [skipped: ${NO_ETCD}]` : '';
const TTL_MS = 60_000;
/** In simulated time. */
const DEADLINE_MS = 1000;
/** In real time, where nothing depends on when a call gives up. */
const PATIENT_MS = 20_000;

/* The tests that wait until etcd itself lets a lease expire are in test/system/etcd-holds.test.ts. */
describe.skipIf(binary === undefined)(`a hold on etcd${skipped}`, () => {
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

  const wired = (deadlineMs = DEADLINE_MS): Promise<Wire> => openWire(cluster, deadlineMs);

  test('whose put went through and was not answered is found', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store, witness } = wire;
    const leasesBefore = await leases.ids();
    const before = [...proxy.flows];
    // The lease has a connection of its own, which is opened between the read of the key and the put.
    proxy.heard = (flow) => {
      if (!before.includes(flow)) for (const one of before) one.silence = 'answers';
    };
    const holding = store.hold(rawKey('t/leader'), 'v', TTL_MS);
    await until(async () => (await witness.get('t/leader')) !== undefined);
    expect(new Set(before.map(({ silence }) => silence))).toEqual(new Set(['answers']));
    // Half of the time is for the put, the other half for a read of whether it happened.
    await timers.advance(DEADLINE_MS / 2);
    const holder = await whileTimePasses(held(holding));
    expect(await present(witness, 't/leader')).toMatchObject({ value: 'v', revision: holder.revision });
    expect(await holder.rewrite('w')).toBe('written');
    expect((await leases.since(leasesBefore)).size).toBe(1);
  });

  test('whose rewrite went through and was not answered is still held, at the new revision', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store, witness } = wire;
    const holder = await held(store.hold(rawKey('t/leader'), 'v', TTL_MS));
    const before = holder.revision;
    proxy.silenceFlows('answers');
    const rewriting = holder.rewrite('w');
    await until(async () => (await present(witness, 't/leader')).value === 'w');
    await timers.advance(DEADLINE_MS / 2);
    expect(await whileTimePasses(rewriting)).toBe('written');
    expect(holder.revision).toBeGreaterThan(before);
    expect(await present(witness, 't/leader')).toMatchObject({ value: 'w', revision: holder.revision });
    expect(await holder.rewrite('x')).toBe('written');
  });

  test('is lost for a holder that is cut off once nine tenths of its time to live are over', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store } = wire;
    const holder = await held(store.hold(rawKey('t/leader'), 'v', TTL_MS));
    // A listener is told without asking: reading `lost` would make the hold read the clock.
    let isTold = false;
    holder.lost.addEventListener('abort', () => (isTold = true));
    proxy.silence = 'everything';
    proxy.silenceFlows('everything');
    await timers.advance(TTL_MS * 0.9 - 1);
    expect([isTold, holder.lost.aborted]).toEqual([false, false]);
    await timers.advance(1);
    expect(isTold).toBe(true);
    expect(holder.lost.aborted).toBe(true);
    expect(await holder.rewrite('late')).toBe('lost');
  });

  test('is kept by a renewal for nine tenths of its time to live from then on', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store } = wire;
    const ttlMs = 1000;
    const holder = await held(store.hold(rawKey('t/leader'), 'v', ttlMs));
    await timers.advance(500);
    // Renewals come in real time, and a read of the key after each. The first one may have set out before time moved.
    let looks = 0;
    proxy.heard = (_, bytes) => {
      if (bytes.includes('t/leader')) looks += 1;
    };
    await until(() => looks >= 2);
    await timers.advance(ttlMs * 0.9 - 1);
    expect(holder.lost.aborted).toBe(false);
  });

  test('leaves no lease behind: not when it is released, nor taken, nor taken away', async () => {
    await using wire = await wired(PATIENT_MS);
    const { store, witness } = wire;
    const before = await leases.ids();
    const released = await held(store.hold(rawKey('t/released'), 'v', TTL_MS));
    await released.release();
    // It is told by its next renewal.
    const removed = await held(store.hold(rawKey('t/removed'), 'v', 2000));
    await writes(witness, remove('t/removed'));
    await until(() => removed.lost.aborted);
    const many = await Promise.all(Array.from({ length: 8 }, async () => store.hold(rawKey('t/leader'), 'v', TTL_MS)));
    expect(many.filter((hold) => hold === 'taken')).toHaveLength(7);
    await until(async () => (await leases.since(before)).size === 1);
  });

  test('that is taken asks for no lease', async () => {
    await using wire = await wired(PATIENT_MS);
    const { store, witness } = wire;
    await writes(witness, put('t/leader'));
    const before = { leases: await leases.ids(), page: await witness.list({ prefix: 't/', limit: 1 }) };
    expect(await store.hold(rawKey('t/leader'), 'v', TTL_MS)).toBe('taken');
    expect((await leases.since(before.leases)).size).toBe(0);
    expect((await witness.list({ prefix: 't/', limit: 1 })).revision).toBe(before.page.revision);
  });

  test('is gone at once when the store is closed', async () => {
    await using wire = await wired(PATIENT_MS);
    const { prefix, witness } = wire;
    const before = await leases.ids();
    const leaving = await openEtcdStore({ endpoints: cluster.urls, prefix, deadlineMs: PATIENT_MS });
    const holder = await held(leaving.hold(rawKey('t/leader'), 'v', TTL_MS));
    await leaving[Symbol.asyncDispose]();
    expect(holder.lost.aborted).toBe(true);
    expect(await witness.get('t/leader')).toBeUndefined();
    expect((await leases.since(before)).size).toBe(0);
  });

  test('a release ends at the deadline of a call when etcd is gone, and nothing is lost by it', async () => {
    using timers = simulatedTimers();
    await using wire = await wired();
    const { proxy, store } = wire;
    const holder = await held(store.hold(rawKey('t/leader'), 'v', TTL_MS));
    proxy.silence = 'everything';
    proxy.silenceFlows('everything');
    let isOver = false;
    const releasing = holder.release().then(() => (isOver = true));
    await timers.advance(DEADLINE_MS - 1);
    expect(isOver).toBe(false);
    await timers.advance(1);
    await releasing;
    expect(holder.lost.aborted).toBe(false);
  });
});
