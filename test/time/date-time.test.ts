import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dateTime } from '../../src/time/date-time.ts';
import { runs } from '../support/run/effort.ts';

test.each([
  [0, '1970-01-01T00:00:00.000Z', 'the first instant'],
  [999, '1970-01-01T00:00:00.999Z', 'all three digits'],
  [86_399_999, '1970-01-01T23:59:59.999Z', 'the last of a day'],
  [86_400_000, '1970-01-02T00:00:00.000Z', 'the first of the next'],
  [Date.UTC(2028, 1, 29, 9, 5, 7, 1), '2028-02-29T09:05:07.001Z', 'a leap day, with every digit that could be missing'],
])('%i → %s (%s)', (at, told) => {
  expect(dateTime(at)).toBe(told);
});

test('every instant is told as the platform tells it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 11, 31, 23, 59, 59, 999) }), (at) => {
      expect(dateTime(at)).toBe(new Date(at).toISOString());
    }),
    { numRuns: runs(500) },
  );
});
