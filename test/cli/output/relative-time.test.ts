import { expect, test } from 'vitest';
import { relativeTime } from '../../../src/cli/output/relative-time.ts';

const NOW = Date.UTC(2026, 5, 1, 12);
const [S, MIN, H, D] = [1000, 60_000, 3_600_000, 86_400_000];

test.each([
  [0, 'now', 'the same instant'],
  [-999, 'now', 'less than a second ago'],
  [-S, '1 s ago', 'a second'],
  [-(MIN - 1), '59 s ago', 'rounded down'],
  [-MIN, '1 min ago', 'a minute'],
  [-(H - 1), '59 min ago', 'not yet an hour'],
  [-H, '1 h ago', 'an hour'],
  [-(D - 1), '23 h ago', 'not yet a day'],
  [-D, '1 d ago', 'a day'],
  [-400 * D, '400 d ago', 'no months, which have no length'],
  [999, 'now', 'in less than a second'],
  [90 * D, 'in 90 d', 'what expires'],
  [3 * MIN + S, 'in 3 min', 'to come'],
])('%i ms → %s (%s)', (apart, told) => {
  expect(relativeTime(NOW + apart, NOW)).toBe(told);
});
