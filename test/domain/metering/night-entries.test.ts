import { expect, test } from 'vitest';
import { LEDGER_ENTRIES_PER_COMMIT } from '../../../src/domain/metering/ledger.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { COMMIT_OPERATIONS_MAX, type Store, type Write } from '../../../src/store/port.ts';
import { put } from '../../../src/domain/records/codec.ts';
import {
  accountAt,
  appAt,
  ledgerOf,
  midnightAfter,
  MINUTE_MS,
  newId,
  replicaOn,
  write,
} from '../../support/metering/metering.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import { boundedStore } from '../../support/store/bounded-store.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* The entries of the audit that tell of metered nights: one with each record of the ledger that has a daemon. */

const NOON = Date.UTC(2026, 5, 1, 12);
const DAY = '2026-06-01';
const PAST = midnightAfter(NOON) + 6 * MINUTE_MS;

/** So many accounts that a night takes three commits; a third of them have no daemon, and one is disabled. */
async function seeded(store: Store): Promise<void> {
  const writes: Write[] = [put(KEYS.day(), { day: DAY, since: DAY })];
  for (let n = 0; n < 2 * LEDGER_ENTRIES_PER_COMMIT + 5; n += 1) {
    const accountId = newId();
    writes.push(accountAt(accountId, NOON, n === 1));
    for (let app = 0; app < n % 3; app += 1) writes.push(appAt(accountId, newId(), NOON, 'active'));
  }
  await write(store, writes);
}

/** What the audit tells of nights, and what the ledger has; each in the order of the accounts. */
async function nights(store: Store): Promise<{ readonly told: unknown[]; readonly metered: unknown[] }> {
  const told = (await entriesOf(store, KEYS.audit.under())).map(({ key, value }) => {
    const { actor, action, detail } = KEYS.audit.schema.parse(JSON.parse(value));
    return [key.split('/')[1], actor, action, detail];
  });
  const metered = [...(await ledgerOf(store))].flatMap(([name, { day, activeDaemons }]) =>
    activeDaemons === 0 ? [] : [[name.split(' ')[0], 'muster', 'night.metered', { night: day, active: activeDaemons }]],
  );
  const sorted = (some: unknown[][]) => some.toSorted((one, other) => (String(one) < String(other) ? -1 : 1));
  return { told: sorted(told), metered: sorted(metered) };
}

onEachStore('the audit of a night', (stores) => {
  test('has an entry for each account with an active daemon, and none for the others, however often it is metered', async () => {
    await using store = faultyStore(await stores.open());
    await seeded(store);
    await using replica = await replicaOn(store, new FakeClock(PAST));
    await replica.meter();
    const { told, metered } = await nights(store);
    expect(metered.length).toBeGreaterThan(LEDGER_ENTRIES_PER_COMMIT);
    expect(told).toEqual(metered);
    for (const { write: some } of store.changes) expect(some.length).toBeLessThan(COMMIT_OPERATIONS_MAX);
    await write(store, [{ remove: KEYS.metered() }]);
    await replica.meter();
    expect((await nights(store)).told).toEqual(metered);
  });

  test.each(['lost before commit', 'answer lost after commit', 'conflict'] as const)(
    'neither lacks nor repeats one where a commit is hit by: %s',
    async (fate) => {
      await using store = faultyStore(await stores.open());
      await seeded(store);
      await using replica = await replicaOn(store, new FakeClock(PAST));
      store.isPlanned = ({ write: some }) => some.some((one) => 'put' in one && one.put.startsWith('ledger/'));
      store.fates.push('passes', fate, fate);
      for (let ends = 0; ends < 3; ends += 1) await replica.meter().catch(() => undefined);
      const { told, metered } = await nights(store);
      expect(store.fates).toEqual([]);
      expect(metered.length).toBeGreaterThan(LEDGER_ENTRIES_PER_COMMIT);
      expect(told).toEqual(metered);
    },
  );

  test('has each once where two leaders meter at once', async () => {
    await using store = await stores.open();
    await seeded(store);
    await using one = await replicaOn(store, new FakeClock(PAST));
    await using other = await replicaOn(store, new FakeClock(PAST));
    await Promise.all([one.meter(), other.meter()]);
    await one.meter();
    const { told, metered } = await nights(store);
    expect(metered.length).toBeGreaterThan(LEDGER_ENTRIES_PER_COMMIT);
    expect(told).toEqual(metered);
  });

  test('goes on as long as nights are metered on a store that fills up, and no longer', async () => {
    await using opened = faultyStore(await stores.open());
    await seeded(opened);
    await using replica = await replicaOn(boundedStore(opened), new FakeClock(PAST));
    opened.full = 0.95;
    await expect(replica.meter()).rejects.toThrow('95 % full');
    expect(await nights(opened)).toEqual({ told: [], metered: [] });
    opened.full = 0.94;
    await replica.meter();
    const { told, metered } = await nights(opened);
    expect(metered.length).toBeGreaterThan(0);
    expect(told).toEqual(metered);
  });
});
