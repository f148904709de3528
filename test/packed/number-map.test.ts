import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PackedNumbers } from '../../src/packed/number-map.ts';
import { runs } from '../support/run/effort.ts';

const KEY_MAX = Number.MAX_SAFE_INTEGER - 1;
/** Neighbours, as slots are; some that differ in their high bits alone; any. */
const key = fc.oneof(
  fc.nat(40),
  fc.nat(3).map((high) => high * 2 ** 32),
  fc.constantFrom(KEY_MAX, KEY_MAX - 1),
  fc.maxSafeNat(),
);
const value = fc.oneof(fc.constant(0), fc.maxSafeNat(), fc.double({ noNaN: true }));

const byKey = (a: readonly [number, number], b: readonly [number, number]): number => a[0] - b[0];

test('says what a map says', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(key, value), { maxLength: 300, size: 'max' }), fc.nat(50), (pairs, expected) => {
      const numbers = new PackedNumbers({ expected });
      const model = new Map<number, number>();
      for (const [k, v] of pairs) {
        expect(numbers.get(k)).toBe(model.get(k));
        numbers.set(k, v);
        model.set(k, v);
        expect(numbers.size).toBe(model.size);
      }
      expect([...numbers].sort(byKey)).toEqual([...model].sort(byKey));
    }),
    { numRuns: runs(60) },
  );
});

test('stale values go before more room is taken; nothing else does', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(5000), fc.nat(1)), { maxLength: 2000, size: 'max' }), (pairs) => {
      const numbers = new PackedNumbers({ isStale: (v) => v === 0 });
      const fresh = new Set<number>();
      for (const [k, v] of pairs) {
        numbers.set(k, v);
        if (v === 1) fresh.add(k);
        else fresh.delete(k);
      }
      for (const k of fresh) expect(numbers.get(k)).toBe(1);
    }),
    { numRuns: runs(25) },
  );
});

test('a stream of keys that grow stale does not make it grow', () => {
  let now = 0;
  const numbers = new PackedNumbers({ isStale: (at) => at < now - 100 });
  for (; now < 100_000; now += 1) numbers.set(now, now);
  expect(numbers.bytes).toBeLessThan(10_000);
});

test('takes what it was told to expect without growing', () => {
  const numbers = new PackedNumbers({ expected: 1000 });
  const { bytes } = numbers;
  for (let slot = 0; slot < 1000; slot += 1) numbers.set(slot, slot);
  expect(numbers.bytes).toBe(bytes);
  expect(bytes).toBeLessThan(1000 * 21);
});
