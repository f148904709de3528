import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CLOCK_SKEW_MS_MAX, greatestSkewMs, judgeClocks, outvoted } from '../../../src/domain/replicas/clock-skew.ts';

const NOW = 1_800_000_000_000;
const LOOKED = { from: NOW - 5000, to: NOW };
const one = (clock: number, revision = 2) => [{ replicaId: 'other', revision, clock }];
/** Met before, at revision 1, with a right clock. */
const MET = new Map([['other', { revision: 1, skewMs: 0 }]]);

describe('one announcement', () => {
  test.each([
    [NOW - 5000, 0, 'written right after the read before'],
    [NOW, 0, 'written right now'],
    [NOW + 30_000, 30_000, '30 s ahead'],
    [NOW - 5000 - 30_001, -30_001, '30.001 s behind'],
    [NOW + 3_600_000, 3_600_000, 'an hour ahead'],
  ])('%d: off by %d ms (%s)', (clock, skewMs) => {
    expect(judgeClocks(MET, one(clock), LOOKED).get('other')).toEqual({ revision: 2, skewMs });
  });

  test('an announcement that was seen before is not judged again, however old it is', () => {
    const judged = judgeClocks(MET, one(NOW - 900_000, 1), LOOKED);
    expect(judged.get('other')).toEqual({ revision: 1, skewMs: 0 });
  });

  test('an announcement that is seen for the first time may be as old as its time to live and more', () => {
    expect(judgeClocks(new Map(), one(NOW - 59_000), LOOKED).get('other')?.skewMs).toBe(0);
    expect(judgeClocks(new Map(), one(NOW - 3_600_000), LOOKED).get('other')?.skewMs).toBe(-3_540_000);
    expect(judgeClocks(new Map(), one(NOW + 40_000), LOOKED).get('other')?.skewMs).toBe(40_000);
  });

  test('a replica that is gone is forgotten', () => {
    expect(judgeClocks(MET, [], LOOKED).size).toBe(0);
  });
});

test('no delay of store or reader makes a right clock look wrong', () => {
  const ms = fc.integer({ min: 0, max: 3_600_000 });
  fc.assert(
    fc.property(ms, ms, ms, (sinceLook, writtenAfterLook, clockReadBeforeWrite) => {
      // It was written between two reads; its clock was read up to 2 s before, the deadline of a store call.
      const written = NOW - sinceLook + Math.min(writtenAfterLook, sinceLook);
      const clock = written - (clockReadBeforeWrite % 2000);
      const judged = judgeClocks(MET, one(clock), { from: NOW - sinceLook, to: NOW });
      expect(greatestSkewMs(judged)).toBeLessThanOrEqual(2000);
      expect(outvoted(judged)).toBe(false);
    }),
  );
});

describe('a vote', () => {
  const off = CLOCK_SKEW_MS_MAX + 1;
  const judgedBy = (skews: readonly number[]) =>
    new Map(skews.map((skewMs, index) => [String(index), { revision: 1, skewMs }]));

  test.each<[readonly number[], boolean, string]>([
    [[], false, 'alone'],
    [[CLOCK_SKEW_MS_MAX], false, 'of two, within the bound'],
    [[off], true, 'of two, nobody can tell which one is wrong'],
    [[-off], true, 'behind counts as ahead'],
    [[off, 0], false, 'of three, the other is wrong'],
    [[off, off], true, 'of three, this one is'],
    [[off, off, 0], true, 'two against two'],
    [[off, off, 0, 0], false, 'two against three'],
  ])('%j → %s (%s)', (skews, against) => {
    expect(outvoted(judgedBy(skews))).toBe(against);
  });
});
