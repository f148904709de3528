import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFleetHistory, type FleetHistory } from '../../../src/domain/fleet-history/fleet-history.ts';
import { fleetSeries, readFleetSeries, type FleetRange } from '../../../src/domain/fleet-history/series.ts';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { AccountFleet } from '../../../src/domain/rollouts/rollout-totals.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { expectAbsent, expectHeld, type Expectation } from '../../../src/store/port.ts';
import { DAY_MS, HOUR_MS } from '../../../src/time/utc-days.ts';
import { ACCOUNT, OTHER_ACCOUNT } from '../../support/records/audit.ts';
import { putAll } from '../../support/records/backups.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* The history that the leader keeps of fleets, and the reads of it. */

const NEVER = new AbortController().signal;
const NOON = Date.UTC(2026, 5, 1, 12);
const STALE_MS = 180_000;
const at = (hours: number): string => new Date(NOON + hours * HOUR_MS).toISOString();

onEachStore('the fleet over time', (stores) => {
  let store: FaultyStore;
  let clock: FakeClock;
  let isTrusted: boolean;
  let heardMs: number;
  beforeEach(async () => {
    store = faultyStore(await stores.open());
    clock = new FakeClock(NOON + 5 * 60_000);
    isTrusted = true;
    heardMs = STALE_MS;
  });
  afterEach(() => store[Symbol.asyncDispose]());

  const leader = (fence: readonly Expectation[] = []): FleetHistory =>
    createFleetHistory(
      {
        store,
        clock,
        clockWatch: { trusted: () => isTrusted },
        listening: { forMs: () => heardMs },
        staleAfterMs: STALE_MS,
      },
      fence,
    );
  const fleet = (active: number, silent = 0, failed = 0, accountId = ACCOUNT): AccountFleet => ({
    accountId,
    active,
    silent,
    failed,
  });
  /** Counts and writes, as the two loops do. @returns whether there was an hour to count */
  async function count(history: FleetHistory, ...fleets: readonly AccountFleet[]): Promise<boolean> {
    const hour = history.due();
    if (hour === undefined) return false;
    history.counted(hour, fleets);
    await history.round(NEVER);
    return true;
  }
  async function points(range: FleetRange = '24h', accountId = ACCOUNT) {
    const series = await readFleetSeries(store, accountId, range, clock.now());
    return series.points.map((one) => [new Date(one.at).toISOString(), one.active, one.silent, one.failed]);
  }
  const stored = async (accountId = ACCOUNT) =>
    (await store.list({ prefix: KEYS.fleetDay.under(accountId), limit: 1000 })).entries;

  test('has a point for each hour that was counted, and none for one that was not', async () => {
    const history = leader();
    expect(await count(history, fleet(3, 1))).toBe(true);
    clock.advance(HOUR_MS);
    expect(await count(history, fleet(4, 0, 2))).toBe(true);
    clock.advance(2 * HOUR_MS);
    expect(await count(history, fleet(5))).toBe(true);
    expect(await points()).toEqual([
      [at(0), 3, 1, 0],
      [at(1), 4, 0, 2],
      [at(3), 5, 0, 0],
    ]);
    const [day] = await stored();
    expect(day && parseRecord(KEYS.fleetDay, day).record.hours.slice(11)).toEqual([
      null,
      [3, 1, 0],
      [4, 0, 2],
      null,
      [5, 0, 0],
    ]);
  });

  test('is counted once in an hour: not again in a term, and by another term without a change', async () => {
    const [first, second] = [leader(), leader()];
    await count(first, fleet(3));
    expect(await count(first, fleet(9))).toBe(false);
    const before = await stored();
    expect(await count(second, fleet(9))).toBe(true);
    expect(await stored()).toEqual(before);
    clock.advance(HOUR_MS);
    expect(await count(second, fleet(9))).toBe(true);
    expect(await count(first, fleet(8))).toBe(true);
    expect(await points()).toEqual([
      [at(0), 3, 0, 0],
      [at(1), 9, 0, 0],
    ]);
  });

  test('loses nothing where two leaders write at once: the account that the other one has not is added', async () => {
    const other = leader();
    store.intercept('commit', 'before', () => count(other, fleet(7, 0, 0, OTHER_ACCOUNT)));
    await count(leader(), fleet(3), fleet(9, 0, 0, OTHER_ACCOUNT));
    expect(await points()).toEqual([[at(0), 3, 0, 0]]);
    expect(await points('24h', OTHER_ACCOUNT)).toEqual([[at(0), 7, 0, 0]]);
  });

  test('keeps what a commit has written whose answer was lost, and goes on where it stopped', async () => {
    const many = Array.from({ length: 120 }, (_, n) => fleet(1, 0, 0, `account${String(n).padStart(9, '0')}`));
    const history = leader();
    store.fates.push('passes', 'answer lost after commit');
    await expect(count(history, ...many)).rejects.toThrow();
    // The count of an hour is not taken twice, and what waits is written by the next round.
    expect(history.due()).toBeUndefined();
    await history.round(NEVER);
    expect((await store.list({ prefix: KEYS.fleetDay.under(), limit: 1000 })).entries).toHaveLength(120);
    // 50, 50 with a lost answer, and 20: no commit for the second batch, which is there.
    expect(store.calls.commit).toBe(3);
  });

  test('is not written by a leader whose term is over', async () => {
    const held = await store.hold(KEYS.leader(), 'r', 60_000);
    if (held === 'taken') expect.unreachable('nobody leads yet');
    const history = leader([expectHeld(KEYS.leader(), held)]);
    await held.release();
    await count(history, fleet(3));
    expect(await stored()).toEqual([]);
    // It is still waiting, for as long as the term may go on.
    expect(store.calls.commit).toBe(3);
  });

  test('is not counted by a clock that jumped', async () => {
    isTrusted = false;
    expect(await count(leader(), fleet(3))).toBe(false);
    isTrusted = true;
    expect(await count(leader(), fleet(3))).toBe(true);
  });

  test('is counted once daemons were heard for as long as they may be silent: until then the hour is a gap', async () => {
    const history = leader();
    heardMs = STALE_MS - 1;
    expect(await count(history, fleet(3, 3))).toBe(false);
    heardMs = STALE_MS;
    expect(await count(history, fleet(3))).toBe(true);
    heardMs = 0;
    clock.advance(HOUR_MS);
    expect(await count(history, fleet(3, 3))).toBe(false);
    expect(await points()).toEqual([[at(0), 3, 0, 0]]);
  });

  test('begins with the first daemon; on the day on which an account loses them it tells of zero', async () => {
    const history = leader();
    const hours = [fleet(0), fleet(2), fleet(0), fleet(0)];
    for (const one of hours) {
      await count(history, one);
      clock.advance(HOUR_MS);
    }
    expect(await points()).toEqual([
      [at(1), 2, 0, 0],
      [at(2), 0, 0, 0],
      [at(3), 0, 0, 0],
    ]);
    clock.advance(DAY_MS);
    await count(history, fleet(0));
    expect(await stored()).toHaveLength(1);
  });

  test('has ninety days, each in its slot, and none of a slot that is older', async () => {
    const history = leader();
    for (let day = 1; day <= 95; day += 1) {
      await count(history, fleet(day));
      clock.advance(DAY_MS);
    }
    expect(await stored()).toHaveLength(90);
    clock.advance(-DAY_MS);
    const shown = await points('90d');
    expect(shown.map(([, active]) => active)).toEqual(Array.from({ length: 90 }, (_, index) => index + 6));
    // Two days without a count: their slots still have the days of ninety days ago.
    clock.advance(2 * DAY_MS);
    expect((await points('90d')).map(([, active]) => active)).toEqual(shown.slice(2).map(([, active]) => active));
  });

  test('goes on beside a record that cannot be read: it is a gap, and is written anew by the next point', async () => {
    await count(leader(), fleet(3));
    const [{ key, revision } = expect.unreachable('one')] = await stored();
    await store.commit({ expect: [expectRevision(key, revision)], write: [{ put: key, value: '{' }], quiet: true });
    expect(await points()).toEqual([]);
    clock.advance(HOUR_MS);
    await count(leader(), fleet(4));
    expect(await points()).toEqual([[at(1), 4, 0, 0]]);
  });

  test('has the numbers of a later version beside its own', async () => {
    const key = KEYS.fleetDay(ACCOUNT, Math.floor(NOON / DAY_MS));
    const hours = [...Array.from({ length: 11 }, () => null), [1, 0, 0, 77]];
    await putAll(store, { [key]: { day: '2026-06-01', hours, more: 'of it' } });
    await count(leader(), fleet(4));
    const [day] = await stored();
    expect(day && JSON.parse(day.value)).toEqual({ day: '2026-06-01', hours: [...hours, [4, 0, 0]], more: 'of it' });
    expect(await points()).toEqual([
      [at(-1), 1, 0, 0],
      [at(0), 4, 0, 0],
    ]);
  });

  test.each([
    ['24h', { get: 2, list: 0 }],
    ['7d', { get: 8, list: 0 }],
    ['90d', { get: 0, list: 1 }],
  ] as const)('reads of the range %s the days that it needs: %o', async (range, expected) => {
    await count(leader(), fleet(3));
    const before = { ...store.calls };
    expect(await points(range)).toEqual([[at(0), 3, 0, 0]]);
    const { get, list } = store.calls;
    expect({ get: get - before.get, list: list - before.list }).toEqual(expected);
  });

  test('leaves the accounts beside it alone, and `head`, which every request reads', async () => {
    await store.commit({ expect: [expectAbsent('x')], write: [] });
    const before = await store.head();
    await count(leader(), fleet(3));
    expect(await points('24h', OTHER_ACCOUNT)).toEqual([]);
    expect(await store.head()).toEqual(before);
  });
});

test('six hours are one point in the range of 90 days: the fewest active, the most silent and failed', () => {
  const hours = [null, [5, 1, 0], null, [3, 0, 2], [9, 0, 0], null, [4, 4, 4]] as const;
  const days = [{ day: '2026-06-01', hours: hours.map((one) => one && ([...one] as [number, number, number])) }];
  const midnight = Date.UTC(2026, 5, 1);
  expect(fleetSeries(days, '90d', midnight + 6.5 * HOUR_MS)).toEqual({
    from: midnight - 89 * DAY_MS,
    to: midnight + 12 * HOUR_MS,
    stepMs: 6 * HOUR_MS,
    points: [
      { at: midnight, active: 3, silent: 1, failed: 2 },
      { at: midnight + 6 * HOUR_MS, active: 4, silent: 4, failed: 4 },
    ],
  });
});
