import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { dayAfter, daysBefore, stampDay } from '../../../src/domain/status-history/day-record.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { expectAbsent } from '../../../src/store/port.ts';
import { foundAt } from '../../support/store/snapshots.ts';

const at = (text: string): number => Date.parse(text);

const current = foundAt(7, { day: '2026-03-10', since: '2026-01-01' }, KEYS.day());

test.each<[string, string, boolean, string, string, boolean]>([
  [
    'a change in the middle of the day keeps its instant',
    '2026-03-10T12:00:00.000Z',
    true,
    '2026-03-10',
    '2026-03-10T12:00:00.000Z',
    false,
  ],
  [
    'the last millisecond belongs to the day',
    '2026-03-10T23:59:59.999Z',
    true,
    '2026-03-10',
    '2026-03-10T23:59:59.999Z',
    false,
  ],
  [
    'midnight begins the next one, and moves the record on',
    '2026-03-11T00:00:00.000Z',
    true,
    '2026-03-11',
    '2026-03-11T00:00:00.000Z',
    true,
  ],
  [
    'after quiet days it moves on by more than one',
    '2026-03-14T05:00:00.000Z',
    true,
    '2026-03-14',
    '2026-03-14T05:00:00.000Z',
    true,
  ],
  [
    'a clock that is behind stamps the beginning of the day',
    '2026-03-09T23:59:59.900Z',
    true,
    '2026-03-10',
    '2026-03-10T00:00:00.000Z',
    false,
  ],
  [
    'a clock that is not trusted ends no day',
    '2026-03-13T12:00:00.000Z',
    false,
    '2026-03-10',
    '2026-03-10T23:59:59.999Z',
    false,
  ],
  [
    'nor does it one that is behind',
    '2026-03-01T12:00:00.000Z',
    false,
    '2026-03-10',
    '2026-03-10T00:00:00.000Z',
    false,
  ],
  [
    'within the day it is as good as any',
    '2026-03-10T01:00:00.000Z',
    false,
    '2026-03-10',
    '2026-03-10T01:00:00.000Z',
    false,
  ],
])('%s', (_what, now, trusted, day, stamped, moves) => {
  const stamp = stampDay(current, at(now), trusted);
  expect(stamp).toMatchObject({ day, at: at(stamped), expect: expectRevision(KEYS.day(), 7) });
  const moved = { put: KEYS.day(), value: JSON.stringify({ day, since: '2026-01-01' }) };
  expect(stamp.write).toEqual(moves ? [moved] : []);
});

test('the first change of a store begins its days, whatever the clock', () => {
  for (const trusted of [true, false]) {
    const stamp = stampDay(undefined, at('2026-03-10T12:00:00.000Z'), trusted);
    expect(stamp.expect).toEqual(expectAbsent(KEYS.day()));
    expect(stamp.write).toEqual([
      { put: KEYS.day(), value: JSON.stringify({ day: '2026-03-10', since: '2026-03-10' }) },
    ]);
  }
});

test.each([
  ['2026-12-31', '2027-01-01', 'a year ends'],
  ['2028-02-28', '2028-02-29', 'a leap year has a day more'],
  ['2026-02-28', '2026-03-01', 'others have not'],
  ['2100-02-28', '2100-03-01', 'nor has 2100'],
])('after %s comes %s: %s', (day, next) => {
  expect(dayAfter(day)).toBe(next);
  expect(daysBefore(next, 1)).toBe(day);
});
