import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createWindowKeeper, readKeptWindows } from '../../../src/domain/rate-window/kept-windows.ts';
import { SLICE_WAITING_MAX } from '../../../src/domain/rate-window/local-account.ts';
import {
  createLocalRateWindow,
  type LocalRateWindow,
  type RateDecision,
} from '../../../src/domain/rate-window/local-window.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { StoreUnavailable, type Store } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { runs } from '../../support/run/effort.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/** H13 and H14 as they are written: it counts every instant of the last minute anew each time. */
function naiveWindow(): (now: number) => RateDecision {
  let admitted: number[] = [];
  return (now) => {
    admitted = admitted.filter((at) => now - at < 60_000);
    const passes = admitted.length < 600;
    if (passes) admitted.push(now);
    const oldest = admitted[0] ?? now;
    return {
      admitted: passes,
      left: 600 - admitted.length,
      freesInSeconds: Math.max(1, Math.ceil((oldest + 60_000 - now) / 1000)),
    };
  };
}

const boot = { id: 'this boot', origin: 0 };
const log = { error: () => undefined };

/** A window whose slices lie in the store, as a process has it after its start. */
async function startedOn(store: Store, clock: FakeClock): Promise<LocalRateWindow> {
  const window = createLocalRateWindow(clock, createWindowKeeper({ store, boot }));
  window.restore(await readKeptWindows({ store, clock, boot, log }));
  await window.save();
  return window;
}

/** A store in memory that counts the commits. */
async function counted(): Promise<Store & { commits: number; refuses: boolean }> {
  const store = await openSqliteStore(':memory:');
  const counting = Object.assign(
    wrappedStore(store, {
      async commit(change) {
        counting.commits += 1;
        if (counting.refuses) throw new StoreUnavailable('full', 'commit: full');
        return await store.commit(change);
      },
    }),
    { commits: 0, refuses: false },
  );
  return counting;
}

const charges = (window: LocalRateWindow, account: string, count: number): Promise<RateDecision[]> =>
  Promise.all(Array.from({ length: count }, async () => window.charge(account)));

const pauseMs = fc.oneof(
  fc.nat({ max: 5 }),
  fc.nat({ max: 61_000 }),
  fc.constantFrom(999, 1000, 59_999, 60_000, 60_001),
);
const burst = fc.record({ pauseMs, account: fc.constantFrom('a', 'b'), requests: fc.integer({ min: 1, max: 500 }) });

test('the ring decides as the rule does, for any pauses and bursts of two accounts, and over clean restarts', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ burst, restart: fc.boolean(), forget: fc.boolean() }), { maxLength: 16 }),
      async (steps) => {
        await using store = await openSqliteStore(':memory:');
        const clock = new FakeClock();
        const naive = { a: naiveWindow(), b: naiveWindow() };
        let window = await startedOn(store, clock);
        for (const { burst, restart, forget } of steps) {
          clock.advance(burst.pauseMs);
          if (restart) {
            await window.save();
            window = await startedOn(store, clock);
          }
          if (forget) await window.forget();
          const expected = Array.from({ length: burst.requests }, () => naive[burst.account](clock.monotonic()));
          expect(await charges(window, burst.account, burst.requests)).toEqual(expected);
        }
      },
    ),
    { numRuns: runs(15) },
  );
});

test('the windows of more accounts than a page of the store holds outlive a restart', async () => {
  await using store = await openSqliteStore(':memory:');
  const clock = new FakeClock();
  const accounts = Array.from({ length: 1003 }, (_, i) => `account${i}`);
  const before = await startedOn(store, clock);
  await Promise.all(accounts.map(async (account) => before.charge(account)));
  await before.save();

  const after = await startedOn(store, clock);
  const left = await Promise.all(accounts.map(async (account) => (await after.charge(account)).left));
  expect(new Set(left)).toEqual(new Set([598]));
});

test.each([
  [1003, 1, 11, 'a hundred small ones to a commit'],
  [20, 600, 2, 'full ones by their size'],
])('%i accounts with %i requests each are saved by at most %i commits: %s', async (count, requests, commitsMax) => {
  await using store = await counted();
  const clock = new FakeClock();
  const window = await startedOn(store, clock);
  for (let n = 0; n < count; n += 1) {
    clock.advance(1);
    await charges(window, `account${n}`, requests);
  }
  store.commits = 0;
  await window.save();
  expect(store.commits).toBeGreaterThan(0);
  expect(store.commits).toBeLessThanOrEqual(commitsMax);
});

describe('slices', () => {
  test('only the first request of a slice waits for a write, and the others are decided at once', async () => {
    await using store = await counted();
    const window = await startedOn(store, new FakeClock());
    const waited: number[] = [];
    for (let n = 1; n <= 601; n += 1) {
      const decision = window.charge('a');
      if (decision instanceof Promise) waited.push(n);
      expect((await decision).admitted).toBe(n <= 600);
    }
    expect(waited).toEqual([1, 41, 201, 401]);
    expect(store.commits).toBe(4);
  });

  test('600 requests a minute cost 3 writes a minute', async () => {
    await using store = await counted();
    const clock = new FakeClock();
    const window = await startedOn(store, clock);
    for (let n = 0; n < 6000; n += 1) {
      expect(await window.charge('a')).toMatchObject({ admitted: true });
      clock.advance(100);
    }
    expect(store.commits).toBeLessThanOrEqual(31);
  });

  test('an account with fewer than 10 requests a minute costs at most one write a minute', async () => {
    const gaps = fc.array(fc.integer({ min: 6700, max: 200_000 }), { minLength: 40, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(gaps, async (pauses) => {
        await using store = await counted();
        const clock = new FakeClock();
        const window = await startedOn(store, clock);
        const begin = clock.monotonic();
        for (const ms of pauses) {
          clock.advance(ms);
          await window.charge('a');
        }
        expect(store.commits).toBeLessThanOrEqual(1 + (clock.monotonic() - begin) / 60_000);
      }),
      { numRuns: runs(10) },
    );
  });

  test('a request whose slice cannot be written is rejected, nothing is charged, and the next one tries again', async () => {
    await using store = await counted();
    const window = await startedOn(store, new FakeClock());
    store.refuses = true;
    const both = await Promise.allSettled(Array.from({ length: 2 }, async () => window.charge('a')));
    expect(both).toMatchObject([{ reason: { reason: 'full' } }, { reason: { reason: 'full' } }]);
    store.refuses = false;
    expect(await window.charge('a')).toMatchObject({ admitted: true, left: 599 });
  });

  test(`${SLICE_WAITING_MAX} requests of an account may wait for a slice, and no more`, async () => {
    await using store = await openSqliteStore(':memory:');
    const window = await startedOn(store, new FakeClock());
    const waiting = Array.from({ length: SLICE_WAITING_MAX }, async () => window.charge('a'));
    expect(() => window.charge('a')).toThrow('Too many requests of one account wait');
    expect(await window.charge('b'), 'another account is not held up').toMatchObject({ admitted: true });
    expect((await Promise.all(waiting)).filter(({ admitted }) => admitted)).toHaveLength(600);
  });
});

describe('an account that makes no requests any more', () => {
  test('leaves nothing on disk once nothing of its window counts', async () => {
    await using store = await openSqliteStore(':memory:');
    const clock = new FakeClock();
    const window = await startedOn(store, clock);
    await window.charge('a');
    clock.advance(119_999);
    await window.forget();
    expect(await store.get(KEYS.rateWindow('a'))).toBeDefined();
    clock.advance(1);
    await window.forget();
    expect(await store.get(KEYS.rateWindow('a'))).toBeUndefined();
  });

  test('a request that comes while its window is removed waits for its own slice, which stays', async () => {
    await using store = await openSqliteStore(':memory:');
    const clock = new FakeClock();
    const window = await startedOn(store, clock);
    await window.charge('a');
    clock.advance(120_000);
    const [, decision] = await Promise.all([window.forget(), window.charge('a')]);
    expect(decision).toMatchObject({ admitted: true, left: 599 });
    expect(await store.get(KEYS.rateWindow('a'))).toBeDefined();
    expect(window.fills()).toEqual(new Map([['a', 1 / 600]]));
  });
});
