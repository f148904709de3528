import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { type ReviewIndex, digestOf, entryIdOf, reviewKey } from '../../../src/domain/records/review-records.ts';
import { admit } from '../../../src/domain/review-queue/capacity.ts';
import { COMMIT_OPERATIONS_MAX } from '../../../src/store/port.ts';
import { runs } from '../../support/run/effort.ts';

/* The detections of an app that one commit takes, within the bounds of the app and of a commit. */

const { reviewEntriesPerAppMax: ENTRIES_MAX, reviewBytesPerAppMax: BYTES_MAX } = LIMITS;
const bytesOf = (index: ReviewIndex): number => index.entries.reduce((sum, [, bytes]) => sum + bytes, 0);

/** The newest of the sizes, as many as an app may have; the names tell the order. */
function indexOf(sizes: readonly number[]): ReviewIndex {
  const entries: [string, number][] = [];
  for (const [i, bytes] of sizes.entries()) {
    entries.push([`old-${i}`, bytes]);
    while (entries.length > ENTRIES_MAX || entries.reduce((sum, [, size]) => sum + size, 0) > BYTES_MAX)
      entries.shift();
  }
  return { entries, dropped: 3 };
}

const small = fc.integer({ min: 150, max: 600 });
const large = fc.integer({ min: 150, max: 38_000 });
const many = (size: fc.Arbitrary<number>, maxLength: number): fc.Arbitrary<number[]> =>
  fc.array(size, { maxLength, size: 'max' });
/** A queue of small ones, of large ones, or of both. */
const queue = fc.oneof(many(small, 220), many(large, 220), many(fc.oneof(small, small, large), 220));
/** A body has 64 KiB, and each entry is a little more than its event. */
const batch = fc.oneof(many(small, 100), many(fc.oneof(small, large), 100)).map((sizes) => {
  let room = 80_000;
  return sizes.filter((bytes) => (room -= bytes) >= 0);
});

test('whatever comes: all is taken in the end, the oldest go, and no bound is passed', () => {
  fc.assert(
    fc.property(queue, batch, (old, sizes) => {
      const before = indexOf(old);
      let index = before;
      let pending = sizes.map((bytes, i) => ({ digest: `new-${i}`, bytes }));
      const dropped: string[] = [];
      while (pending.length > 0) {
        const round = admit(index, pending);
        expect(1 + round.taken.length + round.dropped.length).toBeLessThanOrEqual(COMMIT_OPERATIONS_MAX);
        expect(round.taken.length + round.dropped.length, 'it goes on').toBeGreaterThan(0);
        expect(round.taken).toEqual(pending.slice(0, round.taken.length));
        expect(round.index.entries.length).toBeLessThanOrEqual(ENTRIES_MAX);
        expect(bytesOf(round.index)).toBeLessThanOrEqual(BYTES_MAX);
        pending = pending.slice(round.taken.length);
        dropped.push(...round.dropped);
        index = round.index;
      }
      const names = [...before.entries.map(([digest]) => digest), ...sizes.map((_, i) => `new-${i}`)];
      expect([...dropped, ...index.entries.map(([digest]) => digest)]).toEqual(names);
      expect(index.dropped).toBe(before.dropped + dropped.length);
      // No more than had to: with the last dropped one back it would be too much.
      const last = before.entries[dropped.length - 1];
      if (last) {
        const tooMany = index.entries.length + 1 > ENTRIES_MAX;
        expect(tooMany || bytesOf(index) + last[1] > BYTES_MAX).toBe(true);
      }
    }),
    { numRuns: runs(100) },
  );
});

test('a queue takes twice what a request brings, so that a request sent again finds itself', () => {
  expect(ENTRIES_MAX).toBeGreaterThanOrEqual(2 * LIMITS.detectionsPerRequestMax);
  expect(BYTES_MAX).toBeGreaterThanOrEqual(2 * (LIMITS.requestBodyBytesMax + 150 * LIMITS.detectionsPerRequestMax));
});

test.each([
  [`${'a'.repeat(20)}-${'0'.repeat(32)}`, `review/account/${'a'.repeat(20)}/${'0'.repeat(32)}`],
  [`${'a'.repeat(19)}-${'0'.repeat(32)}`, undefined],
  [`${'a'.repeat(20)}-${'0'.repeat(31)}`, undefined],
  [`${'a'.repeat(20)}-${'0'.repeat(33)}`, undefined],
  [`${'a'.repeat(20)}-${'A'.repeat(32)}`, undefined],
  [`${'a'.repeat(19)}/-${'0'.repeat(32)}`, undefined],
  [`${'a'.repeat(20)}-${'0'.repeat(32)}\n`, undefined],
])('the entry id %j leads to %j', (entryId, key) => {
  expect(reviewKey('account', entryId)).toBe(key);
});

test('an event has one id in its app, and another one elsewhere', () => {
  const [one, other] = ['a'.repeat(20), 'b'.repeat(20)];
  expect(entryIdOf(one, digestOf(one, 'x'))).toMatch(/^a{20}-[0-9a-f]{32}$/);
  expect(digestOf(one, 'x')).toBe(digestOf(one, 'x'));
  expect(new Set([digestOf(one, 'x'), digestOf(one, 'y'), digestOf(other, 'x')]).size).toBe(3);
});
