import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { NO_FAILURES, waitOf } from '../../../src/domain/sign-ins/failures.ts';
import { createNameFailures, type Judge, type NameFailures } from '../../../src/domain/sign-ins/name-failures.ts';
import { createLog } from '../../../src/log.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import type { Change, Store } from '../../../src/store/port.ts';
import type { Clock } from '../../../src/time/clock.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { entriesOf } from '../../support/service/accounts.ts';

/** Whoever sleeps moves it on. */
class SleptClock implements Clock {
  at = Date.UTC(2026, 5, 1);

  now(): number {
    return this.at;
  }

  monotonic(): number {
    return this.at;
  }

  async sleep(ms: number): Promise<void> {
    this.at += ms;
    await Promise.resolve();
  }
}

const stranger: Judge = (name, now) => waitOf({ name, network: NO_FAILURES, site: NO_FAILURES, waited: 'no' }, now);
const log = createLog('info', { write: () => undefined });

describe('failures at names', () => {
  let clock: SleptClock;
  let store: Store;
  let faulty: FaultyStore;
  /** The instants of the commits, with what each wrote. */
  let commits: { at: number; change: Change }[];
  const written = (): Store =>
    wrappedStore(faulty, {
      commit: (change) => {
        commits.push({ at: clock.now(), change });
        return faulty.commit(change);
      },
    });
  const own = (): NameFailures => createNameFailures({ store: written(), clock, log });
  /** As on a store of replicas. */
  const shared = (): NameFailures =>
    createNameFailures({ store: Object.assign(written(), { backend: 'etcd' as const }), clock, log });
  const all = (counts: NameFailures, names: readonly number[]): Promise<number[]> =>
    Promise.all(names.map((name) => counts.count(name, stranger)));
  const settled = async (): Promise<void> => {
    for (let i = 0; i < 200; i += 1) await new Promise((resolve) => setImmediate(resolve));
  };

  beforeEach(async () => {
    clock = new SleptClock();
    store = await openSqliteStore(':memory:');
    faulty = faultyStore(store);
    commits = [];
  });
  afterEach(() => store[Symbol.asyncDispose]());

  test('shared, those that come together are one commit, before their passwords are compared', async () => {
    const counts = shared();
    expect(await all(counts, [1, 1, 1, 1, 1, 1, 1, 200, 4000])).toEqual([0, 0, 0, 0, 0, 12_000, 12_000, 0, 0]);
    expect(commits.map(({ change }) => change.write.length)).toEqual([3]);
    expect(commits[0]?.change.quiet).toBe(true);
  });

  test('shared, they are written at most once a second, however many come', async () => {
    const counts = shared();
    for (let i = 0; i < 60; i += 1) await counts.count(i, stranger);
    const pauses = commits.slice(1).map(({ at }, i) => at - (commits[i]?.at ?? 0));
    expect(commits).toHaveLength(60);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(1000);
  });

  test('shared, what is refused is neither read again nor written', async () => {
    const counts = shared();
    await all(counts, [1, 1, 1, 1, 1]);
    const before = { ...faulty.calls };
    for (let i = 0; i < 20; i += 1) expect(await counts.count(1, stranger)).toBeGreaterThan(0);
    expect(faulty.calls).toEqual(before);
  });

  test('shared, replicas that meet count each attempt once', async () => {
    const replicas = [shared(), shared(), shared()];
    const waits = await Promise.all(replicas.map((counts) => all(counts, [9, 9, 9, 9])));
    expect(waits.flat().filter((ms) => ms === 0)).toHaveLength(5);
    expect(await shared().count(9, stranger)).toBeGreaterThan(0);
  });

  test('shared, what was right is taken back with the next commit, for every replica', async () => {
    const counts = shared();
    for (let i = 0; i < 12; i += 1) {
      expect(await counts.count(1, stranger)).toBe(0);
      counts.takeBack(1);
      await settled();
    }
    expect(await all(shared(), [1, 1, 1, 1, 1, 1])).toEqual([0, 0, 0, 0, 0, 12_000]);
  });

  test('shared, without the store nothing is compared, and with it everything goes on', async () => {
    const counts = shared();
    faulty.down.add('commit');
    await expect(counts.count(1, stranger)).rejects.toThrow(/commit/);
    faulty.down.add('get');
    await expect(counts.count(1, stranger)).rejects.toThrow();
    faulty.down.clear();
    expect(await counts.count(1, stranger)).toBe(0);
    faulty.fates.push('answer lost after commit');
    await expect(counts.count(1, stranger)).rejects.toThrow();
    // Whether it was compared is unknown, so it counts.
    expect(await all(counts, [1, 1, 1, 1])).toEqual([0, 0, 0, 12_000]);
  });

  test('on a store of one process memory decides, and the next start knows what was written', async () => {
    const counts = own();
    expect(await all(counts, [1, 1, 1, 1, 1, 1])).toEqual([0, 0, 0, 0, 0, 12_000]);
    await settled();
    expect(commits).toHaveLength(1);
    clock.at += 1000;
    expect(await counts.count(2, stranger)).toBe(0);
    await settled();
    expect(commits).toHaveLength(2);
    expect((await entriesOf(store, KEYS.signInNames.under())).map(({ key }) => key)).toEqual([KEYS.signInNames(0)]);
    expect(await own().count(1, stranger)).toBeGreaterThan(0);
  });

  test('on a store of one process a write that fails refuses nobody, and is made up for', async () => {
    const counts = own();
    expect(await counts.count(1, stranger)).toBe(0);
    await settled();
    for (const fate of ['lost before commit', 'lost before commit', 'lost before commit'] as const) {
      clock.at += 1000;
      faulty.fates.push(fate);
      expect(await counts.count(1, stranger)).toBe(0);
      await settled();
    }
    clock.at += 1000;
    expect(await counts.count(1, stranger)).toBe(0);
    await settled();
    expect(await own().count(1, stranger)).toBeGreaterThan(0);
    // A write whose answer was lost conflicts with the next one, and what the store has is read again.
    for (const fate of ['answer lost after commit', 'passes', 'passes'] as const) {
      clock.at += 1000;
      faulty.fates.push(fate);
      expect(await counts.count(3, stranger)).toBe(0);
      await settled();
    }
    expect(faulty.fates).toEqual([]);
    expect(await counts.count(1, stranger)).toBeGreaterThan(0);
  });

  test('on a store of one process records that cannot be read again refuse whoever asks, and stop nothing', async () => {
    const counts = own();
    expect(await counts.count(1, stranger)).toBe(0);
    await settled();
    for (const fate of ['answer lost after commit', 'passes'] as const) {
      clock.at += 1000;
      faulty.fates.push(fate);
      expect(await counts.count(1, stranger)).toBe(0);
      await settled();
    }
    // By now they are to be read anew.
    faulty.down.add('get');
    const asked = counts.count(1, stranger);
    counts.takeBack(1);
    await expect(asked).rejects.toThrow();
    await settled();
    faulty.down.clear();
    expect(await counts.count(2, stranger)).toBe(0);
  });
});
