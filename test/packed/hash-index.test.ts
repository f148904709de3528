import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PackedIndex } from '../../src/packed/hash-index.ts';
import { runs } from '../support/run/effort.ts';

/** Every row that the index finds by this hash. */
function rowsOf(index: PackedIndex, hash: number): number[] {
  const rows: number[] = [];
  for (let slot = index.first(hash); slot >= 0; slot = index.next(slot, hash)) rows.push(index.rowAt(slot));
  return rows.sort((a, b) => a - b);
}

/** Few hashes, so that rows meet; some whose low bits are all set, so that they run over the end of the table. */
const hash = fc.oneof(
  fc.nat(3),
  fc.constantFrom(0xffff_ffff, 0xffff_fffe, 0x0000_000f, 0x8000_000e),
  fc.nat(0xffff_ffff),
);
const step = fc.record({ row: fc.nat(60), hash });

test('finds what a map finds, whatever comes, meets and goes', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
      const index = new PackedIndex();
      const model = new Map<number, number>();
      for (const { row, hash } of steps) {
        const known = model.get(row);
        // A row that is there goes; one that is not there comes.
        if (known === undefined) index.add(hash, row);
        else index.remove(known, row);
        if (known === undefined) model.set(row, hash);
        else model.delete(row);
        expect(index.size).toBe(model.size);
      }
      for (const wanted of new Set(steps.map((s) => s.hash))) {
        const expected = [...model].filter(([, at]) => at === wanted).map(([row]) => row);
        expect(rowsOf(index, wanted)).toEqual(expected.sort((a, b) => a - b));
      }
    }),
    { numRuns: runs(60) },
  );
});

test('a removal of what is not there changes nothing, not even where another row has its hash', () => {
  const index = new PackedIndex();
  index.add(7, 1);
  index.remove(7, 2);
  index.remove(8, 1);
  expect(rowsOf(index, 7)).toEqual([1]);
});

test('another row takes a slot, and the one before is not found there any more', () => {
  const index = new PackedIndex();
  index.add(7, 1);
  index.replace(index.first(7), 2);
  expect(rowsOf(index, 7)).toEqual([2]);
  expect(index.size).toBe(1);
});

test('gives back what it took when its rows go', () => {
  const index = new PackedIndex();
  const small = index.bytes;
  for (let row = 0; row < 10_000; row += 1) index.add(Math.imul(row, 0x9e3779b1) >>> 0, row);
  expect(index.bytes).toBeGreaterThan(80_000);
  expect(index.bytes).toBeLessThanOrEqual(10_000 * 8 * 2.67);
  for (let row = 0; row < 10_000; row += 1) index.remove(Math.imul(row, 0x9e3779b1) >>> 0, row);
  expect(index.bytes).toBe(small);
});
