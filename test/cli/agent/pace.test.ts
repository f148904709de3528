import fc from 'fast-check';
import { expect, test } from 'vitest';
import { changedMs, outageBackoffMs, refusedMs, unchangedMs } from '../../../src/cli/agent/pace.ts';
import { runs } from '../../support/run/effort.ts';

const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test('in an outage a fleet is spread over all of a time that doubles up to two minutes', () => {
  const none = undefined;
  expect([1, 2, 3, 6, 7, 1000].map((failures) => outageBackoffMs(failures, none, () => 0.5))).toEqual([
    2500, 5000, 10_000, 60_000, 60_000, 60_000,
  ]);
  expect(outageBackoffMs(5, none, () => 0)).toBe(0);
});

test('no pause is shorter than what the service asks for', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), fc.nat(4000), chance, (failures, seconds, jitter) => {
      expect(outageBackoffMs(failures, seconds, () => jitter)).toBeGreaterThanOrEqual(seconds * 1000);
      expect(refusedMs(seconds, () => jitter)).toBeGreaterThanOrEqual(seconds * 1000);
    }),
    { numRuns: runs(200) },
  );
});

test('a refused credential is tried again after half an hour where the service says nothing', () => {
  expect(refusedMs(undefined, () => 0)).toBe(1_800_000);
});

test.each([
  [60, 0, 60_000, 'a poll that was not held waits for its interval'],
  [0, 0, 0, 'the service may ask for no pause'],
  [undefined, 50_000, 0, 'a poll that was held is followed by the next'],
  [undefined, 1000, 0, 'one that was held for a second, too'],
  [undefined, 10, 990, 'what nobody held is no reason to poll without a pause'],
])('Retry-After %j after %i ms: a pause of %i ms (%s)', (retryAfterSeconds, tookMs, pauseMs, _why) => {
  expect(unchangedMs(retryAfterSeconds, tookMs)).toBe(pauseMs);
});

test.each([
  [undefined, 0, 0, 'a poll that was held is followed by the next'],
  [60, 1, 0, 'the first poll of a daemon is never held'],
  [60, 2, 1000, 'a second change may have come between two polls'],
  [60, 7, 32_000, 'it doubles'],
  [60, 8, 60_000, 'never more than the service asks for'],
  [60, 5000, 60_000, 'however long that lasts'],
  [0, 9, 0, 'the service may ask for no pause'],
])(
  'after a change, Retry-After %j and %i unheld polls: a pause of %i ms (%s)',
  (retryAfterSeconds, unheld, pauseMs, _why) => {
    expect(changedMs(retryAfterSeconds, unheld)).toBe(pauseMs);
  },
);
