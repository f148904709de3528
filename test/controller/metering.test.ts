import { describe, expect, test } from 'vitest';
import type { Reconciler } from '../../src/controller/loop.ts';
import { meteringReconciler } from '../../src/controller/metering.ts';
import { LEDGER_ENTRIES_PER_COMMIT } from '../../src/domain/metering/ledger.ts';
import { put } from '../../src/domain/records/codec.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import { expectRevision } from '../../src/store/entry.ts';
import { type Store, StoreUnavailable, type Write } from '../../src/store/port.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { dayAt } from '../../src/time/utc-days.ts';
import {
  accountAt,
  appAt,
  countsOf,
  digestOf,
  HOUR_MS,
  ledgerOf,
  midnightAfter,
  MINUTE_MS,
  newId,
  replicaOn,
  termOf,
  type Replica,
  write,
} from '../support/metering/metering.ts';
import { entriesOf } from '../support/service/accounts.ts';
import { faultyStore } from '../support/store/faulty-store.ts';
import { onEachStore } from '../support/store/stores.ts';
import { wrappedStore } from '../support/store/wrapped-store.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { rawPrefix, rawPut } from '../support/store/raw-key.ts';

const NOON = Date.UTC(2026, 5, 1, 12);
const DAY = '2026-06-01';

const dayRecord = (day: string, since = day): Write => put(KEYS.day(), { day, since });

/**
 * Accounts, each with a few apps.
 * @param accounts more than two commits take, unless it says otherwise
 * @returns the expected counts by `<accountId> <day>`
 */
async function seeded(store: Store, accounts = 2 * LEDGER_ENTRIES_PER_COMMIT + 5): Promise<Record<string, string>> {
  const expected: Record<string, string> = {};
  const writes: Write[] = [dayRecord(DAY)];
  for (let i = 0; i < accounts; i += 1) {
    const accountId = newId();
    const disabled = i % 10 === 9;
    writes.push(accountAt(accountId, NOON, disabled));
    const active: string[] = [];
    for (let n = 0; n < i % 4; n += 1) {
      const appId = newId();
      const status = n === 2 ? 'revoked' : 'active';
      writes.push(appAt(accountId, appId, NOON, status));
      if (status === 'active' && !disabled) active.push(appId);
    }
    expected[`${accountId} ${DAY}`] = `${active.length} ${digestOf(active)}`;
  }
  await write(store, writes);
  return expected;
}

/** More rounds than a night takes that has to begin again. */
async function rounds(replica: Replica, loop: Reconciler): Promise<void> {
  for (let round = 0; round < 6; round += 1) {
    await replica.caughtUp();
    await loop.reconcile(new AbortController().signal);
  }
}

onEachStore('a night', (stores) => {
  test('is metered once for every account, with its price, also where no daemon is active', async () => {
    await using store = await stores.open();
    const expected = await seeded(store);
    const clock = new FakeClock(midnightAfter(NOON) + 6 * MINUTE_MS);
    await using replica = await replicaOn(store, clock);
    await replica.meter();
    expect(await countsOf(store)).toEqual(expected);
    const before = await ledgerOf(store);
    for (const record of before.values()) {
      expect(record).toMatchObject({ day: DAY, computedAt: clock.now(), late: false, price: '1.50', currency: 'EUR' });
    }
    expect(JSON.parse((await store.get(KEYS.metered()))?.value ?? '')).toEqual({ through: DAY });
    clock.advance(HOUR_MS);
    await replica.meter();
    expect(await ledgerOf(store)).toEqual(before);
  });

  test('that a restore took away is metered again without a restart', async () => {
    await using store = await stores.open();
    const expected = await seeded(store);
    await using replica = await replicaOn(store, new FakeClock(midnightAfter(NOON) + 6 * MINUTE_MS));
    const loop = meteringReconciler(replica.deps, termOf());
    await rounds(replica, loop);
    expect(await countsOf(store)).toEqual(expected);
    await write(store, [{ removeAll: rawPrefix('ledger/') }, { remove: KEYS.metered() }]);
    await rounds(replica, loop);
    expect(await countsOf(store)).toEqual(expected);
    expect(JSON.parse((await store.get(KEYS.metered()))?.value ?? '')).toEqual({ through: DAY });
  });

  test.each([1, 2, 3])('of which a restore takes %d batches away in the middle is recorded whole', async (batches) => {
    await using store = await stores.open();
    const expected = await seeded(store);
    let recorded = 0;
    const restored = wrappedStore(store, {
      async commit(change) {
        const result = await store.commit(change);
        const isNight = change.write.some((one) => 'put' in one && one.put.startsWith('ledger/'));
        if (result.outcome === 'committed' && isNight) recorded += 1;
        // The night is not there any more, as after a quick restore of the whole store.
        if (isNight && recorded === batches) await write(store, [{ removeAll: rawPrefix('ledger/') }]);
        return result;
      },
    });
    await using replica = await replicaOn(restored, new FakeClock(midnightAfter(NOON) + 6 * MINUTE_MS));
    await rounds(replica, meteringReconciler(replica.deps, termOf()));
    expect(recorded).toBeGreaterThan(batches);
    expect(await countsOf(store)).toEqual(expected);
  });

  test('a second run over the same night computes the same digests, and reports one that differs', async () => {
    await using store = await stores.open();
    const expected = await seeded(store);
    await using replica = await replicaOn(store, new FakeClock(midnightAfter(NOON) + 6 * MINUTE_MS));
    await replica.meter();
    const metered = await store.get(KEYS.metered());
    await store.commit({
      expect: [expectRevision(KEYS.metered(), metered?.revision ?? 0)],
      write: [{ remove: KEYS.metered() }],
    });
    await replica.meter();
    expect(await countsOf(store)).toEqual(expected);
    const differs = 'was counted differently';
    expect(replica.logged.filter((line) => line.includes(differs))).toEqual([]);
    // The check must see a violation: an app that changed without an entry.
    const [key = ''] = Object.entries(expected).find(([, count]) => count.startsWith('1 ')) ?? [];
    await write(store, [appAt(key.slice(0, 20), newId(), NOON), { remove: KEYS.metered() }]);
    await replica.meter();
    expect(replica.logged.filter((line) => line.includes(differs))).toHaveLength(1);
    expect(await countsOf(store)).toEqual(expected);
  });

  test.each<[number, boolean, string]>([
    [-1, false, 'a millisecond before its midnight and delay'],
    [0, true, 'when they have passed'],
  ])('%d ms from then it is metered: %s (%s)', async (ms, metered) => {
    await using store = await stores.open();
    await seeded(store);
    await using replica = await replicaOn(store, new FakeClock(midnightAfter(NOON) + 5 * MINUTE_MS + ms));
    await replica.meter();
    expect((await ledgerOf(store)).size > 0).toBe(metered);
  });

  test.each<[number, boolean]>([
    [HOUR_MS, false],
    [HOUR_MS + 1, true],
  ])('%d ms after its midnight it is late: %s', async (ms, late) => {
    await using store = await stores.open();
    await seeded(store);
    await using replica = await replicaOn(store, new FakeClock(midnightAfter(NOON) + ms));
    await replica.meter();
    expect(new Set([...(await ledgerOf(store)).values()].map((record) => record.late))).toEqual(new Set([late]));
  });

  test.each([
    ['2026-12-30', '2027-01-02', ['2026-12-30', '2026-12-31', '2027-01-01', '2027-01-02'], 'a year ends'],
    ['2028-02-28', '2028-03-01', ['2028-02-28', '2028-02-29', '2028-03-01'], 'a leap year'],
    ['2026-02-28', '2026-03-01', ['2026-02-28', '2026-03-01'], 'no leap year'],
  ])('after days of outage, from %s to %s, every night is there, oldest first (%s)', async (first, last, days) => {
    await using store = await stores.open();
    const noon = Date.parse(`${first}T12:00:00.000Z`);
    const [accountId, appId] = [newId(), newId()];
    await write(store, [dayRecord(first), accountAt(accountId, noon), appAt(accountId, appId, noon)]);
    const clock = new FakeClock(midnightAfter(Date.parse(`${last}T12:00:00.000Z`)) + 6 * MINUTE_MS);
    const order: string[] = [];
    const watched = wrappedStore(store, {
      commit: (change) => {
        for (const one of change.write) if ('put' in one && one.put.startsWith('ledger/')) order.push(one.put);
        return store.commit(change);
      },
    });
    await using replica = await replicaOn(watched, clock);
    await replica.meter();
    const records = await ledgerOf(store);
    expect([...records.keys()].sort()).toEqual(days.map((day) => `${accountId} ${day}`));
    for (const [key, record] of records) {
      expect(record).toMatchObject({ activeDaemons: 1, digest: digestOf([appId]), late: !key.endsWith(last) });
    }
    expect(order).toEqual(days.map((day) => KEYS.ledger(day.slice(0, 7), accountId, day.slice(8))));
  });

  test('an account that was created on a later day has no record of the nights before', async () => {
    await using store = await stores.open();
    const [old, young] = [newId(), newId()];
    const midnight = midnightAfter(NOON);
    await write(store, [dayRecord(dayAt(midnight), DAY), accountAt(old, midnight - 1), accountAt(young, midnight)]);
    await using replica = await replicaOn(store, new FakeClock(midnight + 24 * HOUR_MS + 6 * MINUTE_MS));
    await replica.meter();
    expect([...(await ledgerOf(store)).keys()].sort()).toEqual(
      [`${old} ${DAY}`, `${old} 2026-06-02`, `${young} 2026-06-02`].sort(),
    );
  });

  test('a store without recorded changes begins with the day on which the first is recorded', async () => {
    await using store = await stores.open();
    await write(store, [accountAt(newId(), NOON - 90 * 24 * HOUR_MS)]);
    const clock = new FakeClock(NOON);
    await using replica = await replicaOn(store, clock);
    await replica.meter();
    expect(await ledgerOf(store)).toEqual(new Map());
    expect(JSON.parse((await store.get(KEYS.day()))?.value ?? '')).toEqual({ day: DAY, since: DAY });
    clock.advance(24 * HOUR_MS);
    await replica.meter();
    expect([...(await ledgerOf(store)).values()].map(({ day }) => day)).toEqual([DAY]);
  });

  test('the changes of a day are kept while a night needs them, and two days more', async () => {
    await using store = await stores.open();
    const [accountId, appId] = [newId(), newId()];
    const days = ['2026-06-01', '2026-06-02', '2026-06-03', '2026-06-04'];
    const life = { before: 'active', after: 'active', at: NOON };
    await write(store, [
      dayRecord('2026-06-04', DAY),
      accountAt(accountId, NOON),
      appAt(accountId, appId, NOON),
      ...days.map((day) => rawPut(KEYS.statusChange(day, accountId, appId), life)),
    ]);
    const clock = new FakeClock(Date.UTC(2026, 5, 5, 1));
    await using replica = await replicaOn(store, clock);
    await replica.meter();
    const left = async (): Promise<string[]> =>
      (await entriesOf(store, KEYS.statusChange.under())).map(({ key }) => key.split('/')[1] ?? '');
    expect(await left()).toEqual(['2026-06-03', '2026-06-04']);
    clock.advance(24 * HOUR_MS);
    await replica.meter();
    expect(await left()).toEqual(['2026-06-04']);
    expect((await ledgerOf(store)).size).toBe(5);
  });

  test.each(['before', 'after'] as const)('a change just %s the changes are listed is not missed', async (when) => {
    await using store = await stores.open();
    const [accountId, appId] = [newId(), newId()];
    const midnight = midnightAfter(NOON);
    const next = dayAt(midnight);
    await write(store, [dayRecord(next, DAY), accountAt(accountId, NOON), appAt(accountId, appId, NOON)]);
    const revoke = (): Promise<void> =>
      write(store, [
        appAt(accountId, appId, midnight, 'revoked'),
        put(KEYS.statusChange(next, accountId, appId), { before: 'active', after: 'revoked', at: midnight }),
      ]);
    let changed = 0;
    const changing = wrappedStore(store, {
      list: async (request) => {
        const listsChanges = request.prefix === KEYS.statusChange.under(next) && (changed += 1) === 1;
        if (listsChanges && when === 'before') await revoke();
        const page = await store.list(request);
        if (listsChanges && when === 'after') await revoke();
        return page;
      },
    });
    await using replica = await replicaOn(changing, new FakeClock(midnight + 6 * MINUTE_MS));
    await replica.meter();
    expect(changed).toBeGreaterThan(0);
    expect(await countsOf(store)).toEqual({ [`${accountId} ${DAY}`]: `1 ${digestOf([appId])}` });
  });

  test('hundreds of changes after midnight are all undone in the count, however many pages they fill', async () => {
    await using store = await stores.open();
    const accountIds = [newId(), newId(), newId()];
    const midnight = midnightAfter(NOON);
    const next = dayAt(midnight);
    const writes: Write[] = [dayRecord(next, DAY)];
    const expected: Record<string, string> = {};
    for (const accountId of accountIds) {
      const appIds = Array.from({ length: 260 }, newId);
      writes.push(accountAt(accountId, NOON));
      for (const [i, appId] of appIds.entries()) {
        // Deleted, revoked, and revoked before they were activated.
        if (i % 3 === 1) writes.push(appAt(accountId, appId, midnight, 'revoked'));
        if (i % 3 === 2) writes.push(appAt(accountId, appId, midnight));
        const [before, after] =
          i % 3 === 2 ? (['revoked', 'active'] as const) : (['active', i % 3 === 0 ? 'none' : 'revoked'] as const);
        writes.push(put(KEYS.statusChange(next, accountId, appId), { before, after, at: midnight }));
      }
      const then = appIds.filter((_, i) => i % 3 !== 2);
      expected[`${accountId} ${DAY}`] = `${then.length} ${digestOf(then)}`;
    }
    await write(store, writes);
    await using replica = await replicaOn(store, new FakeClock(midnight + 6 * MINUTE_MS));
    await replica.meter();
    expect(await countsOf(store)).toEqual(expected);
  });

  test('a batch with two conflicts is checked again before the night counts as metered', async () => {
    await using opened = await stores.open();
    const expected = await seeded(opened);
    const store = faultyStore(opened);
    await using replica = await replicaOn(store, new FakeClock(midnightAfter(NOON) + 6 * MINUTE_MS));
    const loop = meteringReconciler(replica.deps, termOf());
    // The day moves on, and the first batch is tried twice.
    store.fates.push('passes', 'conflict', 'conflict');
    await replica.caughtUp();
    await loop.reconcile(new AbortController().signal);
    expect((await ledgerOf(store)).size).toBe(0);
    expect(await store.get(KEYS.metered())).toBeUndefined();
    await loop.reconcile(new AbortController().signal);
    expect(await countsOf(store)).toEqual(expected);
  });

  test('an account that cannot be read keeps the night open, and no other account waits for it', async () => {
    await using store = await stores.open();
    const [good, bad] = [newId(), newId()];
    const broken = rawPut(KEYS.app(bad, newId()), { status: 'unheard of' });
    await write(store, [dayRecord(DAY), accountAt(good, NOON), accountAt(bad, NOON), broken]);
    await using replica = await replicaOn(store, new FakeClock(midnightAfter(NOON) + 6 * MINUTE_MS));
    await expect(replica.meter()).rejects.toThrow(bad);
    expect([...(await ledgerOf(store)).keys()]).toEqual([`${good} ${DAY}`]);
    await write(store, [{ remove: broken.put }]);
    await replica.meter();
    expect([...(await ledgerOf(store)).keys()].sort()).toEqual([`${good} ${DAY}`, `${bad} ${DAY}`].sort());
  });

  test('an account is not counted without an app that becomes unreadable while the night is under way', async () => {
    await using store = await stores.open();
    const expected = await seeded(store);
    // The account is of the last batch, which is counted after the first has been written.
    const accountId = Object.keys(expected).sort().at(-1)?.slice(0, 20) ?? '';
    const appId = newId();
    const whole = appAt(accountId, appId, NOON);
    await write(store, [accountAt(accountId, NOON), whole]);
    const before = await entriesOf(store, KEYS.app.under(accountId));
    const active = before.filter(({ value }) => value.includes('"active"')).map(({ key }) => key.slice(-20));
    let broken = false;
    const breaking = wrappedStore(store, {
      commit: async (change) => {
        const writesLedger = change.write.some((one) => 'put' in one && one.put.startsWith('ledger/'));
        if (writesLedger && !broken) {
          broken = true;
          await write(store, [rawPut(KEYS.app(accountId, appId), { status: 'unheard of' })]);
        }
        return await store.commit(change);
      },
    });
    await using replica = await replicaOn(breaking, new FakeClock(midnightAfter(NOON) + 6 * MINUTE_MS));
    await expect(replica.meter().then(() => replica.meter())).rejects.toThrow(accountId);
    expect(broken).toBe(true);
    await write(store, [whole]);
    await replica.meter();
    expected[`${accountId} ${DAY}`] = `${active.length} ${digestOf(active)}`;
    expect(await countsOf(store)).toEqual(expected);
  });
});

test('after a day of many changes a round prunes a bounded part, and the rounds together prune all', async () => {
  await using opened = await openSqliteStore(':memory:');
  const store = faultyStore(opened);
  const life = { before: 'pending', after: 'active', at: NOON };
  const busy = Array.from({ length: 5150 }, () => rawPut(KEYS.statusChange('2026-06-01', newId(), newId()), life));
  const kept = rawPut(KEYS.statusChange('2026-06-02', newId(), newId()), life);
  await write(store, [dayRecord('2026-06-05', '2026-06-04'), accountAt(newId(), NOON), ...busy, kept]);
  await write(store, [put(KEYS.metered(), { through: '2026-06-03' })]);
  await using replica = await replicaOn(store, new FakeClock(Date.UTC(2026, 5, 4, 1)));
  const loop = meteringReconciler(replica.deps, termOf());
  const left: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    await loop.reconcile(new AbortController().signal);
    left.push((await entriesOf(opened, KEYS.statusChange.under())).length);
  }
  expect(left).toEqual([151, 1, 1]);
  expect(store.changes.every((change) => change.write.length <= 100)).toBe(true);
  expect(store.changes.flatMap((change) => change.write).some((one) => 'removeAll' in one)).toBe(false);
  expect((await entriesOf(opened, KEYS.statusChange.under()))[0]?.key).toBe(kept.put);
});

/** Everything from the n-th commit on fails: before it happened, or with its answer lost. */
function dyingStore(store: Store, at: number, when: 'before' | 'after'): { store: Store; died: () => boolean } {
  let commits = 0;
  const dead = (): boolean => commits > at || (commits === at && when === 'before');
  const gone = (): never => {
    throw new StoreUnavailable('unreachable', 'the process is gone');
  };
  const dying = wrappedStore(store, {
    commit: async (change) => {
      commits += 1;
      if (dead()) gone();
      const result = await store.commit(change);
      return commits === at ? gone() : result;
    },
    get: (key) => (dead() ? gone() : store.get(key)),
    list: (request) => (dead() ? gone() : store.list(request)),
  });
  return { store: dying, died: () => commits >= at };
}

onEachStore('a controller that dies', (stores) => {
  // Its death is simulated before the store: where that is slower, the one that leaves more behind is enough.
  const deaths = stores.name === 'sqlite' ? (['before', 'after'] as const) : (['after'] as const);
  describe.each(deaths)('%s its n-th commit', (when) => {
    test('leaves nights that the next leader completes: none missing, none double, the same digests', async () => {
      let died = true;
      for (let n = 1; died; n += 1) {
        await using store = await stores.open();
        // Two commits of records each night.
        const expected = await seeded(store, LEDGER_ENTRIES_PER_COMMIT + 5);
        for (const key of Object.keys(expected)) expected[key.replace(DAY, '2026-06-02')] = expected[key] ?? '';
        // Something to forget, so that the last step is among those at which it dies.
        await write(store, [
          put(KEYS.accountStatusChange('2026-05-20', newId()), { before: false, after: true, at: 1 }),
        ]);
        const clock = new FakeClock(midnightAfter(NOON) + 24 * HOUR_MS + 6 * MINUTE_MS);
        await using survivor = await replicaOn(store, clock);
        const dying = dyingStore(store, n, when);
        const failed = await (async () => {
          const loop = meteringReconciler({ ...survivor.deps, store: dying.store }, termOf());
          await survivor.caughtUp();
          for (let round = 0; round < 8; round += 1) await loop.reconcile(new AbortController().signal);
        })().then(
          () => false,
          () => true,
        );
        died = dying.died();
        expect(failed).toBe(died);
        await survivor.meter();
        expect(await countsOf(store)).toEqual(expected);
        expect(await entriesOf(store, KEYS.statusChange.under('2026-05-20'))).toEqual([]);
        if (!died) expect(n).toBeGreaterThan(7);
      }
    });
  });
});

onEachStore('two controllers', (stores) => {
  test('at once, without a fence, write every night once', async () => {
    await using store = await stores.open();
    const expected = await seeded(store);
    const clock = new FakeClock(midnightAfter(NOON) + 6 * MINUTE_MS);
    await using one = await replicaOn(store, clock);
    await using other = await replicaOn(store, clock);
    await Promise.all([one.meter(), other.meter()]);
    await one.meter();
    expect(await countsOf(store)).toEqual(expected);
    for (const { logged } of [one, other]) expect(logged.filter((line) => line.includes('"error"'))).toEqual([]);
  });

  test('a leader whose term is over writes nothing, at whatever step it was', async () => {
    await using store = await stores.open();
    const expected = await seeded(store);
    const clock = new FakeClock(midnightAfter(NOON) + 6 * MINUTE_MS);
    await write(store, [put(KEYS.leader(), { replicaId: 'one', since: 1 })]);
    const fence = [expectRevision(KEYS.leader(), (await store.get(KEYS.leader()))?.revision ?? 0)];
    await using old = await replicaOn(store, clock);
    await using next = await replicaOn(store, clock);
    // Its second commit is on the way when another one comes to lead: the day has moved on, and no more.
    let commits = 0;
    const paused = wrappedStore(store, {
      commit: async (change) => {
        commits += 1;
        if (commits === 2) await write(store, [put(KEYS.leader(), { replicaId: 'other', since: 2 })]);
        return await store.commit(change);
      },
    });
    const loop = meteringReconciler({ ...old.deps, store: paused }, termOf(fence));
    await old.caughtUp();
    for (let round = 0; round < 5; round += 1) await loop.reconcile(new AbortController().signal);
    expect(commits).toBeGreaterThan(2);
    expect(await ledgerOf(store)).toEqual(new Map());
    expect(await store.get(KEYS.metered())).toBeUndefined();
    const term = [expectRevision(KEYS.leader(), (await store.get(KEYS.leader()))?.revision ?? 0)];
    await next.meter(term);
    expect(await countsOf(store)).toEqual(expected);
  });
});
