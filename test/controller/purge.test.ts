import { expect, test } from 'vitest';
import { countCompactedPurges, purgesInHistory } from '../../src/domain/history/purges.ts';
import { put } from '../../src/domain/records/codec.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import { createMetrics } from '../../src/metrics/service-metrics.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { write } from '../support/metering/metering.ts';
import { purgeLoop } from '../support/records/purge-loop.ts';
import { entriesOf } from '../support/service/accounts.ts';
import { FakeClock } from '../support/time/fake-clock.ts';

test('purges that wait for a key are counted by the leader, and no longer by a former leader', async () => {
  await using store = await openSqliteStore(':memory:');
  await write(store, [put(KEYS.purged(1), { count: 3 })]);
  const metrics = createMetrics('test');
  const waiting = async (): Promise<string | undefined> => {
    const text = await metrics.registry.getSingleMetricAsString('muster_purges_awaiting_key_retirement');
    return text.split('\n').find((line) => line.startsWith('muster_'));
  };
  const term = new AbortController();
  const deps = { store, clock: new FakeClock(), metrics, compacts: false };
  const loop = purgeLoop(deps, { fence: [], signal: term.signal });

  await loop.reconcile(term.signal);
  expect(await waiting()).toBe('muster_purges_awaiting_key_retirement 3');
  term.abort();
  expect(await waiting()).toBeUndefined();
  // A round that was under way when the term ended does not set the gauge any more.
  await loop.reconcile(term.signal);
  expect(await waiting()).toBeUndefined();
});

test('purges under a hundred different keys are counted in one round, by as many commits as it takes', async () => {
  await using store = await openSqliteStore(':memory:');
  for (let number = 1; number <= 100; number += 1) {
    await write(store, [put(KEYS.purge(String(number)), { at: 1, keyNumber: number })]);
  }
  const { any, revision } = await purgesInHistory(store);
  expect(any).toBe(true);
  await countCompactedPurges(store, revision);
  expect(await purgesInHistory(store)).toMatchObject({ any: false });
  expect(await entriesOf(store, KEYS.purged.under())).toHaveLength(100);
});
