import { expect, test } from 'vitest';
import type { FleetReader } from '../../../src/domain/fleet/reader.ts';
import { directReader } from '../../../src/domain/fleet/store-reader.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { accountTransition, appCreation, appTransition } from '../../../src/domain/status-history/status-change.ts';
import { ABSENT } from '../../../src/store/port.ts';
import { accountAt, appAt, newId, replicaOn, write, type Replica } from '../../support/metering/metering.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const NOON = Date.UTC(2026, 5, 2, 12);
const DAY = '2026-06-02';
const NEXT = '2026-06-03';
const YESTERDAY = NOON - 86_400_000;
const MIDNIGHT = NOON + 43_200_000;

/** The reader of memory, once it has all that is in the store; before that the store itself is read. */
async function caughtUp({ deps }: Replica): Promise<FleetReader> {
  let reader = await deps.fleet.current();
  await until(async () => (reader = await deps.fleet.current()).atOnce);
  return reader;
}

onEachStore('what a change leaves for the nights', (stores) => {
  test('the day is in memory like every record, and is read from the store while memory is behind', async () => {
    await using store = await stores.open();
    await using replica = await replicaOn(store, new FakeClock(NOON));
    const { fleet } = replica.deps;
    const current = async () => await caughtUp(replica);
    expect((await current()).day()).toBeUndefined();
    for (const day of ['2026-06-01', DAY]) {
      await write(store, [put(KEYS.day, { day, since: '2026-06-01' })]);
      const expected = {
        key: KEYS.day,
        record: { day, since: '2026-06-01' },
        revision: (await store.get(KEYS.day))?.revision,
      };
      expect((await current()).day()).toEqual(expected);
      expect(await directReader(store, fleet.memory, () => fleet.whole()).day()).toEqual(expected);
      expect(await replica.watchCache.checkConsistency()).toBe('equal');
    }
    // An unreadable day counts as none: a commit that expects it conflicts, and nothing is stamped wrongly.
    await write(store, [put(KEYS.day, { day: 'soon' })]);
    expect((await current()).day()).toBeUndefined();
    expect(await replica.watchCache.checkConsistency()).toBe('equal');
    await write(store, [{ remove: KEYS.day }]);
    expect((await current()).day()).toBeUndefined();
    expect(await replica.watchCache.checkConsistency()).toBe('equal');
  });

  test('the first state of a day is kept through all that follows on it, and read only where it may be there', async () => {
    await using opened = await stores.open();
    const store = faultyStore(opened);
    await using replica = await replicaOn(store, new FakeClock(NOON));
    const [accountId, appId] = [newId(), newId()];
    await write(store, [
      put(KEYS.day, { day: DAY, since: DAY }),
      accountAt(accountId, YESTERDAY),
      appAt(accountId, appId, YESTERDAY),
    ]);
    const key = KEYS.statusChange(DAY, accountId, appId);
    const deps = { store, clockWatch: replica.deps.clockWatch };
    const change = async (after: 'active' | 'revoked' | 'none', at: number): Promise<unknown> => {
      const reader = await caughtUp(replica);
      const app = (await reader.appById(appId))?.app;
      if (!app) throw new Error('no app');
      const { expect: expected, write: writes, at: statusAt } = await appTransition(deps, reader, app, after, at);
      expect(expected).toEqual([
        { key: KEYS.day, revision: (await store.get(KEYS.day))?.revision },
        { key, revision: (await opened.get(key))?.revision ?? ABSENT },
      ]);
      await write(store, [...writes, appAt(accountId, appId, statusAt, after === 'active' ? 'active' : 'revoked')]);
      return JSON.parse((await opened.get(key))?.value ?? '');
    };
    const gets = store.calls.get;
    expect(await change('revoked', NOON)).toEqual({ before: 'active', after: 'revoked', at: NOON });
    // The read above is the test's own.
    expect(store.calls.get).toBe(gets + 1);
    expect(await change('active', NOON + 5)).toEqual({ before: 'active', after: 'active', at: NOON + 5 });
    // It is never before the change before it, whatever the clock says.
    expect(await change('none', NOON + 1)).toEqual({ before: 'active', after: 'none', at: NOON + 5 });
  });

  test.each<[string, number, string, number]>([
    ['a little ahead begins its day', MIDNIGHT + 5000, NEXT, MIDNIGHT + 5000],
    ['that no replica trusts changes nothing but the order', MIDNIGHT + 3 * 86_400_000, DAY, MIDNIGHT - 1],
  ])('an app that an earlier build made by a clock %s', async (_what, madeAt, day, at) => {
    await using store = await stores.open();
    await using replica = await replicaOn(store, new FakeClock(MIDNIGHT - 5000));
    const [accountId, appId] = [newId(), newId()];
    await write(store, [
      put(KEYS.day, { day: DAY, since: DAY }),
      accountAt(accountId, YESTERDAY),
      appAt(accountId, appId, madeAt, 'pending'),
    ]);
    const reader = await caughtUp(replica);
    const app = (await reader.appById(appId))?.app;
    if (!app) throw new Error('no app');
    const change = await appTransition(replica.deps, reader, app, 'active', MIDNIGHT - 5000);
    expect(change.at).toBe(at);
    expect(change.write).toContainEqual(
      put(KEYS.statusChange(day, accountId, appId), { before: 'pending', after: 'active', at }),
    );
    expect(change.write.some((one) => 'put' in one && one.put === KEYS.day)).toBe(day === NEXT);
  });

  test('the day that cannot be read holds up no creation of an app', async () => {
    await using store = await stores.open();
    await using replica = await replicaOn(store, new FakeClock(NOON));
    await write(store, [put(KEYS.day, { day: 'soon' })]);
    const creation = await appCreation(replica.deps, await caughtUp(replica), NOON);
    expect(creation).toEqual({ at: NOON, expect: [], write: [] });
  });

  test.each<[string, number, string, number]>([
    ['in its day', NOON, DAY, NOON],
    ['a little after its midnight', MIDNIGHT + 5000, NEXT, MIDNIGHT + 5000],
    ['far ahead, which is not trusted', MIDNIGHT + 3 * 86_400_000, DAY, MIDNIGHT - 1],
    ['of the day before', YESTERDAY, DAY, MIDNIGHT - 86_400_000],
  ])('a creation by a clock %s', async (_what, madeAt, day, at) => {
    await using store = await stores.open();
    await using replica = await replicaOn(store, new FakeClock(MIDNIGHT - 5000));
    await write(store, [put(KEYS.day, { day: DAY, since: DAY })]);
    const creation = await appCreation(replica.deps, await caughtUp(replica), madeAt);
    const revision = (await store.get(KEYS.day))?.revision;
    // It is the busiest write, so it expects the day only where it begins one.
    const expected = day === DAY ? [] : [{ key: KEYS.day, revision }];
    const writes = day === DAY ? [] : [put(KEYS.day, { day, since: DAY })];
    expect(creation).toEqual({ at, expect: expected, write: writes });
  });

  test('the same for an account that is disabled and enabled', async () => {
    await using store = await stores.open();
    await using replica = await replicaOn(store, new FakeClock(NOON));
    const accountId = newId();
    await write(store, [put(KEYS.day, { day: DAY, since: DAY }), accountAt(accountId, YESTERDAY)]);
    const deps = { store, clockWatch: replica.deps.clockWatch };
    for (const after of [true, false, true]) {
      const reader = await caughtUp(replica);
      const account = await reader.account(accountId);
      if (!account) throw new Error('no account');
      const { write: writes } = await accountTransition(deps, reader, account, after, NOON);
      await write(store, writes);
      const life = JSON.parse((await store.get(KEYS.accountStatusChange(DAY, accountId)))?.value ?? '') as unknown;
      expect(life).toEqual({ before: false, after, at: NOON });
    }
  });
});
