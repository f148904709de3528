import fc from 'fast-check';
import { expect, test } from 'vitest';
import { marksAfter, quotaState } from '../../../src/domain/quota/growth.ts';
import type { StoredRecord } from '../../../src/domain/records/account-records.ts';
import { HOUR_MS } from '../../../src/time/utc-days.ts';
import { runs } from '../../support/run/effort.ts';

const MIB = 1024 * 1024;
const NOW = Date.UTC(2026, 5, 1, 12);

type Memory = Parameters<typeof quotaState>[0];

/** A memory of accounts with what they store. */
function memoryOf(accounts: Readonly<Record<string, StoredRecord & { readonly quotaMb?: number }>>): Memory {
  const views = Object.entries(accounts).map(([id, { quotaMb, ...record }]) => ({
    id,
    record: quotaMb === undefined ? {} : { quotaMb },
    stored: () => ({ record }),
  }));
  return { accounts: () => views };
}

const stored = (mib: number, mib3HoursAgo: number): StoredRecord => ({
  at: NOW,
  audit: mib * MIB,
  records: 0,
  marks: [[NOW - 3 * HOUR_MS, mib3HoursAgo * MIB]],
});

test('the fastest are told with the time that is left to them, and those near their quotas are counted', () => {
  const memory = memoryOf({
    slow: stored(100, 99),
    still: stored(1000, 1000),
    full: stored(1024, 1024),
    fast: stored(400, 340),
    unbounded: { ...stored(5000, 4900), quotaMb: 0 },
    small: { ...stored(9, 6), quotaMb: 10 },
  });
  const { near, atQuota, growing, ending } = quotaState(memory, 1024, NOW, 3);
  expect({ near, atQuota }).toEqual({ near: 3, atQuota: 1 });
  expect(growing.map(({ accountId }) => accountId)).toEqual(['unbounded', 'fast', 'small']);
  // 1 MiB is left at 1 MiB an hour, and 624 MiB at 20 MiB an hour; one without a quota never ends.
  expect(ending.map(({ accountId }) => accountId)).toEqual(['small', 'fast', 'slow']);
  expect(ending[0]?.secondsToQuota).toBeCloseTo(3600, 0);
  expect(ending[1]?.secondsToQuota).toBeCloseTo(31.2 * 3600, 0);
});

test('an account that has just been counted for the first time does not grow', () => {
  const fresh: StoredRecord = { at: NOW, audit: 900 * MIB, records: 0, marks: [[NOW, 900 * MIB]] };
  expect(quotaState(memoryOf({ fresh }), 1024, NOW + 1000, 3).growing).toEqual([]);
  const later = { ...fresh, audit: 930 * MIB };
  expect(quotaState(memoryOf({ later }), 1024, NOW + 1000, 3).growing).toEqual([]);
  expect(quotaState(memoryOf({ later }), 1024, NOW + HOUR_MS, 3).growing).toHaveLength(1);
});

test('growth that has ended fades', () => {
  const memory = memoryOf({ a: stored(400, 340) });
  const rateAfter = (hours: number): number =>
    quotaState(memory, 1024, NOW + hours * HOUR_MS, 3).growing[0]?.bytesPerSecond ?? 0;
  expect(rateAfter(3)).toBeCloseTo(rateAfter(0) / 2, 3);
});

test('an account that rested for days and now runs wild is told within two hours', () => {
  const rested = NOW - 240 * HOUR_MS;
  let record: StoredRecord = { at: rested, audit: 10 * MIB, records: 0, marks: [[rested, 10 * MIB]] };
  // 5 MiB in each half hour, of a quota of 100 MiB.
  for (let step = 1; step <= 4; step += 1) {
    const [at, bytes] = [NOW + (step * HOUR_MS) / 2, (10 + 5 * step) * MIB];
    record = { at, audit: bytes, records: 0, marks: marksAfter(record, { at, bytes }) };
  }
  const [wild] = quotaState(memoryOf({ wild: { ...record, quotaMb: 100 } }), 1024, record.at, 3).ending;
  expect(wild?.secondsToQuota).toBeLessThan(86_400);
});

test('marks of a clock that was ahead are left', () => {
  const ahead: StoredRecord = { ...stored(10, 0), marks: [[NOW + 24 * HOUR_MS, 10 * MIB]] };
  expect(marksAfter(ahead, { at: NOW, bytes: 11 * MIB })).toEqual([[NOW, 11 * MIB]]);
});

test('however often an account is counted, there are two marks at most, and the older one is 3 to 6 hours old', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1000, max: HOUR_MS }), { minLength: 1, maxLength: 60 }), (pauses) => {
      let marks: StoredRecord['marks'] = [];
      let at = NOW;
      for (const pause of pauses) {
        const before = marks.length === 0 ? undefined : { at, audit: at, records: 0, marks };
        at += pause;
        marks = marksAfter(before, { at, bytes: at });
        expect(marks.length).toBeLessThanOrEqual(2);
        const age = at - (marks[0]?.[0] ?? at);
        expect(age).toBeLessThanOrEqual(7 * HOUR_MS);
        if (at - NOW > 7 * HOUR_MS) expect(age).toBeGreaterThanOrEqual(3 * HOUR_MS);
      }
    }),
    { numRuns: runs(50) },
  );
});
