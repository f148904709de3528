import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLocalRateWindow, type RateDecision } from '../../../src/domain/rate-window/local-window.ts';
import { restoreWindows, saveWindows } from '../../../src/domain/rate-window/saved-windows.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { runs } from '../../support/run/effort.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
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

const pauseMs = fc.oneof(
  fc.nat({ max: 5 }),
  fc.nat({ max: 61_000 }),
  fc.constantFrom(999, 1000, 59_999, 60_000, 60_001),
);
const burst = fc.record({ pauseMs, account: fc.constantFrom('a', 'b'), requests: fc.integer({ min: 1, max: 500 }) });

test('the ring decides as the rule does, for any pauses and bursts of two accounts, and over a restart', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ burst, restart: fc.boolean() }), { maxLength: 16 }), (steps) => {
      const clock = new FakeClock();
      const naive = { a: naiveWindow(), b: naiveWindow() };
      let window = createLocalRateWindow(clock);
      for (const { burst, restart } of steps) {
        clock.advance(burst.pauseMs);
        if (restart) {
          const saved = window.save();
          window = createLocalRateWindow(clock);
          window.restore(saved);
        }
        const requests = Array.from({ length: burst.requests });
        const expected = requests.map(() => naive[burst.account](clock.monotonic()));
        expect(requests.map(() => window.charge(burst.account))).toEqual(expected);
      }
    }),
    { numRuns: runs(15) },
  );
});

test('a wall clock that went back over a restart makes nobody wait longer than a window', () => {
  const clock = new FakeClock();
  const before = createLocalRateWindow(clock);
  for (let i = 0; i < 600; i += 1) void before.charge('a');
  const after = createLocalRateWindow(clock);
  const saved = before.save();
  clock.jump(-3_600_000);
  after.restore(saved);
  expect(after.charge('a')).toEqual({ admitted: false, left: 0, freesInSeconds: 60 });
  clock.advance(60_000);
  expect(after.charge('a')).toMatchObject({ admitted: true, left: 599 });
});

test('the windows of more accounts than a page of the store holds outlive a restart', async () => {
  await using store = await openSqliteStore(':memory:');
  const clock = new FakeClock();
  const accounts = Array.from({ length: 1003 }, (_, i) => `account${i}`);
  const before = createLocalRateWindow(clock);
  for (const account of accounts) void before.charge(account);
  await saveWindows(store, before);

  const after = createLocalRateWindow(clock);
  await restoreWindows(store, after);
  const left = await Promise.all(accounts.map(async (account) => (await after.charge(account)).left));
  expect(new Set(left)).toEqual(new Set([598]));
  const again = createLocalRateWindow(clock);
  await restoreWindows(store, again);
  expect(await again.charge('account1'), 'what was restored is gone from the store').toMatchObject({ left: 599 });
});

test.each([
  [1003, 1, 11, 'a hundred small ones to a commit'],
  [20, 600, 3, 'full ones by their size'],
])('%i accounts with %i requests each are saved by at most %i commits: %s', async (count, requests, commitsMax) => {
  await using store = faultyStore(await openSqliteStore(':memory:'));
  const clock = new FakeClock();
  const windows = createLocalRateWindow(clock);
  for (let n = 0; n < count * requests; n += 1) void windows.charge(`account${n % count}`);
  await saveWindows(store, windows);
  expect(store.calls.commit).toBeLessThanOrEqual(commitsMax);
  await saveWindows(store, windows);
  const restored = createLocalRateWindow(clock);
  await restoreWindows(store, restored);
  expect(restored.save()).toEqual(windows.save());
});
