import { expect, test } from 'vitest';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { createFleet } from '../../../src/domain/fleet/fleet.ts';
import { FleetMemory } from '../../../src/domain/fleet/memory.ts';
import { createKeyRotation, type KeyRotation } from '../../../src/domain/key-rotation/key-rotation.ts';
import { parseKeyRing } from '../../../src/domain/keys/key-ring.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { CACHED_GROUPS, KEYS } from '../../../src/domain/records/keys.ts';
import { createReplicas } from '../../../src/domain/replicas/replicas.ts';
import { createLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics/service-metrics.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { WatchCache } from '../../../src/store/watch-cache/watch-cache.ts';
import { keyLine } from '../../support/records/key-lines.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { countedTurns } from '../../support/time/event-loop-turns.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

async function rotationOver(store: Store): Promise<{ rotation: KeyRotation } & AsyncDisposable> {
  const memory = new FleetMemory({ onUnreadable: (error) => expect.unreachable(String(error)) });
  const [clock, log, metrics] = [new FakeClock(), createLog('silent'), createMetrics('test')];
  const watchCache = new WatchCache({ store, sink: memory, clock, log, metrics, groups: CACHED_GROUPS });
  watchCache.start();
  await until(() => watchCache.ready);
  const keyRing = parseKeyRing(keyLine(1));
  const replicas = createReplicas({
    store,
    clock,
    log,
    metrics,
    replicaId: 'one',
    version: '0.0.0',
    keyRing,
    operatorTokens: () => [],
  });
  const fleet = createFleet(store, watchCache, memory);
  const rotation = createKeyRotation({ store, fleet, clock, log, metrics, keyRing, replicas, random: systemRandom() });
  return { rotation, [Symbol.asyncDispose]: () => watchCache[Symbol.asyncDispose]() };
}

async function keepAnswers(store: Store, from: number, to: number): Promise<void> {
  const answer = { keyNumber: 1, wrappedKey: '', box: '' };
  for (let n = from; n < to; n += 100) {
    const write = Array.from({ length: Math.min(100, to - n) }, (_, i) => {
      const key = KEYS.idempotencyRecord('account', `name${String(n + i).padStart(6, '0')}`);
      return put(key, { at: 1, slot: n + i, question: 'q', answer });
    });
    await store.commit({ expect: [expectAbsent('never')], write, quiet: true });
  }
}

test('the status counts 20,000 idempotency records and no more, and lets others have their turn meanwhile', async () => {
  await using store = faultyStore(await openSqliteStore(':memory:'));
  await using over = await rotationOver(store);
  const { rotation } = over;
  await keepAnswers(store, 0, 20_000);
  const turns = countedTurns();
  const all = await rotation.status();
  expect([all.sealedUnder.get(1), all.countedAll]).toEqual([20_000, true]);
  expect(turns.count()).toBeGreaterThanOrEqual(20);
  turns.end();
  await keepAnswers(store, 20_000, 20_001);
  const [lists, some] = [store.calls.list, await rotation.status()];
  expect([some.sealedUnder.get(1), some.countedAll]).toEqual([20_000, false]);
  // Its pages, the live replicas, and the purges in two ranges.
  expect(store.calls.list - lists).toBe(20 + 3);
});
