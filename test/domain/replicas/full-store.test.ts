import { expect, test } from 'vitest';
import { parseKeyRing } from '../../../src/domain/keys/key-ring.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { createReplicas } from '../../../src/domain/replicas/replicas.ts';
import { createLog } from '../../../src/log.ts';
import { StoreUnavailable, type StoreTrouble, type Store } from '../../../src/store/port.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const NOON = Date.UTC(2026, 5, 1, 12);
const KEY_RING = parseKeyRing(`1:${Buffer.alloc(32, 1).toString('base64')}\n`);

function registryOn(store: Store, replicaId: string, { isShared = true, now = NOON } = {}) {
  const told = { live: 0, skewSeconds: 0 };
  const metrics = {
    replicaRegistered: () => undefined,
    replicasLive: (count: number) => void (told.live = count),
    operatorTokensDiffer: () => undefined,
    clockSkew: (seconds: number) => void (told.skewSeconds = seconds),
  };
  const log = createLog('info', { write: () => undefined });
  const deps = { store, clock: new FakeClock(now), log, metrics, replicaId, version: '0.0.0', keyRing: KEY_RING };
  return { replicas: createReplicas({ ...deps, isShared, operatorTokens: () => [] }), told };
}

/** A store that grants no lease for now. */
function refusing(store: Store, reason: StoreTrouble) {
  const state = { refuses: true };
  const hold: Store['hold'] = async (...held) => {
    if (state.refuses) throw new StoreUnavailable(reason, 'hold: refused');
    return await store.hold(...held);
  };
  return { state, store: wrappedStore(store, { hold }) };
}

/** The record of such a replica, as it announces itself. */
async function recordOf(store: Store, replicaId: string): Promise<string> {
  const { replicas } = registryOn(store, replicaId);
  await replicas.announce();
  const entry = await store.get(KEYS.replica(replicaId));
  await replicas.release();
  return entry?.value ?? '';
}

onEachStore('a replica whose announcement the store does not take', (stores) => {
  test('starts where the store is full, sees the others, and is on the registry once there is room', async () => {
    await using store = await stores.open();
    const running = registryOn(store, 'running');
    await running.replicas.announce();
    const full = refusing(store, 'full');
    const { replicas, told } = registryOn(full.store, 'started');
    expect(await replicas.announceAtStart()).toBeUndefined();
    expect(replicas.registration()).toBeUndefined();
    expect(replicas.unregistered()).toMatchObject({
      reason: 'full',
      message: expect.stringContaining('MusterStoreFull') as string,
    });
    await expect(replicas.round()).rejects.toThrow('hold: refused');
    expect(told.live).toBe(1);
    full.state.refuses = false;
    await replicas.round();
    expect(replicas.registration()).toBeDefined();
    expect(replicas.unregistered()).toBeUndefined();
    expect(told.live).toBe(2);
  });

  test('does not start for any other reason', async () => {
    await using store = await stores.open();
    const { replicas } = registryOn(refusing(store, 'timeout').store, 'started');
    await expect(replicas.announceAtStart()).rejects.toMatchObject({ reason: 'timeout' });
  });

  test('tries again soon where its own earlier record, whose answer was lost, is in its place', async () => {
    await using store = await stores.open();
    const { replicas, told } = registryOn(store, 'one');
    const left = await store.hold(KEYS.replica('one'), await recordOf(store, 'one'), 15_000);
    await expect(replicas.round()).rejects.toThrow('this replica is not on the registry');
    expect(told.live).toBe(1);
    if (left !== 'taken') await left.release();
    await replicas.round();
    expect(replicas.unregistered()).toBeUndefined();
  });

  test('names the full store for no other gap', async () => {
    await using store = await stores.open();
    const slow = refusing(store, 'timeout');
    const { replicas } = registryOn(slow.store, 'slow');
    expect(replicas.unregistered()?.message).toBe(
      'this replica is not on the registry: it leads nothing and holds no share of a rate',
    );
    await expect(replicas.round()).rejects.toThrow('hold: refused');
    expect(replicas.unregistered()?.message).toBe(
      'this replica is not on the registry, since the store did not take its announcement (timeout): ' +
        'it leads nothing and holds no share of a rate',
    );
  });

  test('leaves nothing on the registry where it could not join after it was announced', async () => {
    await using store = await stores.open();
    const full = refusing(store, 'full');
    full.state.refuses = false;
    const meanwhile: unknown[] = [];
    const commit: Store['commit'] = async () => {
      meanwhile.push(replicas.registration());
      throw new StoreUnavailable('full', 'commit: refused');
    };
    const { replicas } = registryOn(wrappedStore(full.store, { commit }), 'started');
    expect(await replicas.announceAtStart()).toBeUndefined();
    expect([replicas.registration(), await store.get(KEYS.replica('started'))]).toEqual([undefined, undefined]);
    await expect(replicas.round()).rejects.toThrow('commit: refused');
    expect(meanwhile).toEqual([undefined, undefined]);
    expect([replicas.registration(), await store.get(KEYS.replica('started'))]).toEqual([undefined, undefined]);
  });

  test('does not judge a clock by what others announced before the store was full, and does so afterwards', async () => {
    await using store = await stores.open();
    const running = registryOn(store, 'running');
    await running.replicas.announce();
    const full = refusing(store, 'full');
    const { replicas, told } = registryOn(full.store, 'started', { now: NOON + 3_600_000 });
    await replicas.announceAtStart();
    await expect(replicas.round()).rejects.toThrow('hold: refused');
    expect([replicas.othersDisagree(), told.skewSeconds]).toEqual([false, 0]);
    full.state.refuses = false;
    await running.replicas.announce();
    await replicas.round();
    expect([replicas.othersDisagree(), told.skewSeconds]).toEqual([true, 3600]);
  });

  test('an embedded store has no other replica: the record of a dead one, whose clock was off, is none', async () => {
    await using store = await stores.open();
    await registryOn(store, 'dead', { now: NOON - 3_600_000 }).replicas.announce();
    const shared = registryOn(store, 'sharing');
    await shared.replicas.round();
    expect([shared.replicas.othersDisagree(), shared.replicas.isAlone()]).toEqual([true, false]);
    await shared.replicas.release();
    const embedded = registryOn(store, 'living', { isShared: false });
    await embedded.replicas.round();
    expect([embedded.replicas.othersDisagree(), embedded.replicas.isAlone(), embedded.told]).toEqual([
      false,
      true,
      { live: 1, skewSeconds: 0 },
    ]);
    expect((await embedded.replicas.live()).map(({ replicaId }) => replicaId)).toEqual(['living']);
  });
});
