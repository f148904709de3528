import fc from 'fast-check';
import { expect, test } from 'vitest';
import { marksAfter, quotaState } from '../../../src/domain/quota/growth.ts';
import type { StoredRecord } from '../../../src/domain/records/records.ts';
import { HOUR_MS } from '../../../src/time/utc-days.ts';
import { runs } from '../../support/run/effort.ts';

const MIB = 1024 * 1024;
const NOW = Date.UTC(2026, 5, 1, 12);

type Memory = Parameters<typeof quotaState>[0];

/** A memory of accounts with what they store. */
function memoryOf(accounts: Readonly<Record<string, StoredRecord & { readonly quotaMb?: number }>>): Memory {
  const views = Object.entries(accounts).map(([id, { quotaMb, ...record }]) => ({
    id,
    record: { ...(quotaMb !== undefined && { quotaMb }) },
    stored: () => ({ record }),
  }));
  // What the state does not read is left out.
  return { accounts: () => views as unknown as ReturnType<Memory['accounts']> };
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
  const { near, atQuota, growing } = quotaState(memory, 1024, NOW, 3);
  expect({ near, atQuota }).toEqual({ near: 3, atQuota: 1 });
  expect(growing.map(({ accountId }) => accountId)).toEqual(['unbounded', 'fast', 'small']);
  const [unbounded, fast, small] = growing.map(({ secondsToQuota }) => secondsToQuota);
  expect(unbounded).toBeUndefined();
  // 624 MiB are left at 20 MiB an hour, and 1 MiB at 1 MiB an hour.
  expect(fast).toBeCloseTo(31.2 * 3600, 0);
  expect(small).toBeCloseTo(3600, 0);
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

test('however often an account is counted, there are two marks at most, and the older one is 3 to 6 hours old', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1000, max: HOUR_MS }), { minLength: 1, maxLength: 60 }), (pauses) => {
      let marks: StoredRecord['marks'] = [];
      let at = NOW;
      for (const pause of pauses) {
        at += pause;
        marks = marksAfter(marks, { at, bytes: at });
        expect(marks.length).toBeLessThanOrEqual(2);
        const age = at - (marks[0]?.[0] ?? at);
        expect(age).toBeLessThanOrEqual(7 * HOUR_MS);
        if (at - NOW > 7 * HOUR_MS) expect(age).toBeGreaterThanOrEqual(3 * HOUR_MS);
      }
    }),
    { numRuns: runs(50) },
  );
});
