import { expect, test } from 'vitest';
import { parseKeyRing } from '../../../src/domain/keys/key-ring.ts';
import { createReplicas } from '../../../src/domain/replicas/replicas.ts';
import { createLog } from '../../../src/log.ts';
import { StoreUnavailable, type StoreTrouble, type Store } from '../../../src/store/port.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const KEY_RING = parseKeyRing(`1:${Buffer.alloc(32, 1).toString('base64')}\n`);

function registryOn(store: Store, replicaId: string) {
  const told = { live: 0 };
  const metrics = {
    replicaRegistered: () => undefined,
    replicasLive: (count: number) => void (told.live = count),
    operatorTokensDiffer: () => undefined,
    clockSkew: () => undefined,
  };
  const log = createLog('info', { write: () => undefined });
  const deps = { store, clock: new FakeClock(), log, metrics, replicaId, version: '0.0.0', keyRing: KEY_RING };
  return { replicas: createReplicas({ ...deps, operatorTokens: () => [] }), told };
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

onEachStore('a replica whose announcement the store does not take', (stores) => {
  test('starts where the store is full, sees the others, and is on the registry once there is room', async () => {
    await using store = await stores.open();
    const running = registryOn(store, 'running');
    await running.replicas.announce();
    const full = refusing(store, 'full');
    const { replicas, told } = registryOn(full.store, 'started');
    expect(await replicas.announceAtStart()).toBeUndefined();
    expect(replicas.registration()).toBeUndefined();
    await expect(replicas.round()).rejects.toThrow('hold: refused');
    expect(told.live).toBe(1);
    full.state.refuses = false;
    await replicas.round();
    expect(replicas.registration()).toBeDefined();
    expect(told.live).toBe(2);
  });

  test('does not start for any other reason', async () => {
    await using store = await stores.open();
    const { replicas } = registryOn(refusing(store, 'timeout').store, 'started');
    await expect(replicas.announceAtStart()).rejects.toMatchObject({ reason: 'timeout' });
  });
});
