import { expect, test } from 'vitest';
import type { CountedRateLimits } from '../../src/controller/metrics.ts';
import { rateLimitsReconciler, SERIES_KEPT_MS, SERIES_MAX } from '../../src/controller/rate-limits.ts';
import { FakeClock } from '../support/time/fake-clock.ts';

function leading({ metricsAccounts = true } = {}) {
  const clock = new FakeClock();
  const term = new AbortController();
  let counted: CountedRateLimits | undefined;
  let refused: Record<string, number> = {};
  const loop = rateLimitsReconciler(
    {
      clock,
      metricsAccounts,
      metrics: { rateLimitsCounted: (limits) => void (counted = limits) },
      limitedAccounts: {
        current: async () => ({
          limited: Object.keys(refused).length,
          accounts: Object.entries(refused).map(([accountId, refused]) => ({
            accountId,
            refused,
            fill: 1,
            by: [],
            since: 0,
            liftsAt: 0,
          })),
        }),
      },
    },
    term,
  );
  return {
    clock,
    term,
    counted: () => counted,
    round: async (now: Record<string, number>) => {
      refused = now;
      await loop.reconcile(term.signal);
      return counted?.top.map(({ accountId, refused }) => [accountId, refused]);
    },
  };
}

const many = (from: number, count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`a${from + n}`, 1000 - n]));

test('a series stays for 5 minutes after its account was limited, at 0', async () => {
  const { clock, round } = leading();
  expect(await round({ a: 3 })).toEqual([['a', 3]]);
  expect(await round({ b: 1 })).toEqual([
    ['b', 1],
    ['a', 0],
  ]);
  clock.advance(SERIES_KEPT_MS - 1);
  expect(await round({})).toEqual([
    ['b', 0],
    ['a', 0],
  ]);
  clock.advance(1);
  expect(await round({})).toEqual([]);
});

test('there are never more than 20, those of now first, and the number of limited accounts is whole', async () => {
  const { round, counted } = leading();
  await round(many(0, 15));
  const top = await round(many(100, 10));
  expect(top?.slice(0, 10)).toEqual(Object.entries(many(100, 10)));
  expect(top).toHaveLength(SERIES_MAX);
  expect(await round(many(200, 50))).toEqual(Object.entries(many(200, 20)));
  expect(counted()?.limited).toBe(50);
  expect(counted()?.fills).toHaveLength(50);
});

test('it names no account where that is switched off, and still counts them', async () => {
  const { round, counted } = leading({ metricsAccounts: false });
  expect(await round({ a: 3 })).toEqual([]);
  expect(counted()?.limited).toBe(1);
});

test('a replica that leads no longer shows nothing, though a round was under way', async () => {
  const { round, counted, term } = leading();
  await round({ a: 3 });
  term.abort();
  expect(counted()).toBeUndefined();
  await round({ a: 4 });
  expect(counted()).toBeUndefined();
});
