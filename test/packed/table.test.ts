import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PackedTable } from '../../src/packed/table.ts';
import { PAGE_BYTES, type PackedText } from '../../src/packed/text-pages.ts';
import { runs } from '../support/run/effort.ts';

const textOf = ({ bytes, start, end }: PackedText): string => bytes.toString('utf8', start, end);

interface Held {
  readonly revision: number;
  readonly value: string;
}

/** The table beside a map that is trusted; both are told the same. */
class Both {
  readonly table = new PackedTable();
  readonly model = new Map<string, Held>();

  put(group: number, key: string, held: Held): void {
    const row = this.table.find(key, group);
    expect(row >= 0).toBe(this.model.has(`${group}/${key}`));
    if (row >= 0) this.table.replace(row, held.revision, held.value);
    else this.table.add(group, key, held.revision, held.value);
    this.model.set(`${group}/${key}`, held);
  }

  remove(group: number, key: string): void {
    const row = this.table.find(key, group);
    if (row >= 0) this.table.remove(row);
    this.model.delete(`${group}/${key}`);
  }

  check(): void {
    expect(this.table.size).toBe(this.model.size);
    for (const [name, { revision, value }] of this.model) {
      const [group = '', key = ''] = name.split('/');
      const row = this.table.find(key, Number(group));
      expect([this.table.keyOf(row), this.table.groupOf(row)]).toEqual([key, Number(group)]);
      expect([this.table.revisionOf(row), textOf(this.table.valueOf(row))]).toEqual([revision, value]);
      expect(this.table.keyOf(this.table.find(key))).toBe(key);
    }
  }
}

const key = fc.oneof(
  fc.constantFrom('a', 'b', 'aa', 'key~'),
  fc.string({ unit: fc.constantFrom('a', 'b', '0'), maxLength: 4 }),
);
const value = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom('', '\u{1f600}', 'é'.repeat(200)),
);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ group: fc.nat(2), key, revision: fc.integer({ min: 1, max: 2 ** 50 }), value }) },
  { weight: 2, arbitrary: fc.record({ group: fc.nat(2), key }) },
);

test('holds what a map holds, by group and key', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150, size: 'max' }), (steps) => {
      const both = new Both();
      for (const s of steps) {
        if ('value' in s) both.put(s.group, s.key, s);
        else both.remove(s.group, s.key);
      }
      both.check();
      for (const { group, key } of steps) {
        if (!both.model.has(`${group}/${key}`)) expect(both.table.find(key, group)).toBe(-1);
      }
    }),
    { numRuns: runs(60) },
  );
});

/** The most that values of this many bytes may take: twice as much, the newest page, and keys, columns and index. */
const mostBytes = (held: number): number => 2 * held + PAGE_BYTES + 16 * 1024;

/** Values of which some dozens fill a page, some for which a page soon has no room, and a few larger than a page. */
const bytesOf = fc.oneof(
  { weight: 20, arbitrary: fc.integer({ min: 1, max: 60_000 }) },
  { weight: 3, arbitrary: fc.integer({ min: PAGE_BYTES / 8, max: PAGE_BYTES / 2 }) },
  { weight: 1, arbitrary: fc.constant(PAGE_BYTES) },
);
const churn = fc.array(fc.tuple(fc.nat(30), fc.option(bytesOf, { freq: 5 })), {
  minLength: 50,
  maxLength: 250,
  size: 'max',
});

test('slots that move from page to page stay what they are, and pages but the newest never take more than twice what is held', () => {
  fc.assert(
    fc.property(churn, (steps) => {
      const both = new Both();
      const sizes = new Map<number, number>();
      for (const [number, bytes] of steps) {
        if (bytes === null) both.remove(0, `k${number}`);
        else both.put(0, `k${number}`, { revision: number + 1, value: String(number % 10).repeat(bytes) });
        sizes.set(number, bytes ?? 0);
        const held = sizes.values().reduce((sum, size) => sum + size, 0);
        expect(both.table.bytes).toBeLessThanOrEqual(mostBytes(held));
      }
      both.check();
    }),
    { numRuns: runs(5) },
  );
});

test('small values between large ones that go away do not each keep a page', () => {
  const table = new PackedTable();
  for (let i = 0; i < 30; i += 1) {
    table.add(0, `small${i}`, 1, 'v');
    table.remove(table.add(0, 'large', 1, 'v'.repeat(PAGE_BYTES)));
  }
  expect(table.bytes).toBeLessThanOrEqual(mostBytes(30));
});

test('rows that come and go for ever take no more room than those that are there at a time', () => {
  const table = new PackedTable();
  const rows: number[] = [];
  for (let i = 0; i < 60_000; i += 1) {
    rows.push(table.add(0, `key${i}`, i + 1, 'v'.repeat(200 + (i % 100))));
    if (rows.length > 1000) table.remove(rows.shift() ?? -1);
  }
  expect(table.size).toBe(1000);
  expect(table.rows).toBeLessThanOrEqual(1001);
  expect(table.bytes).toBeLessThan(4 * PAGE_BYTES);
});

test('a text that somebody holds stays as it was, through new values, removals and moves', () => {
  const table = new PackedTable();
  const first = table.add(0, 'first', 1, 'as it was');
  const [text, revision] = [table.valueOf(first), table.revisionOf(first)];
  table.replace(first, 2, 'as it is');
  for (let i = 0; i < 20_000; i += 1) table.remove(table.add(0, `key${i}`, 1, 'x'.repeat(500)));
  table.remove(first);
  expect(textOf(text)).toBe('as it was');
  expect(revision).toBe(1);
});

test('a row keeps its number through new values and moves', () => {
  const table = new PackedTable();
  const row = table.add(0, 'kept', 1, 'v');
  for (let i = 0; i < 10_000; i += 1) table.replace(row, i + 2, `v${i}`.repeat(100));
  expect(table.find('kept', 0)).toBe(row);
  expect(textOf(table.valueOf(row))).toBe('v9999'.repeat(100));
});

test('a row that is free is not read', () => {
  const table = new PackedTable();
  const row = table.add(0, 'gone', 1, 'v');
  table.remove(row);
  expect(() => table.valueOf(row)).toThrow(RangeError);
  expect(() => table.keyOf(row)).toThrow(RangeError);
  expect(table.revisionOf(row)).toBe(0);
});

test('tells of each row that is moved, so that nobody keeps its page alive', () => {
  const moved = new Set<number>();
  const table = new PackedTable((row) => moved.add(row));
  const rows = Array.from({ length: 3000 }, (_, index) => table.add(0, `key-${index}`, 1, 'x'.repeat(1000)));
  const pages = new Map(rows.map((row) => [row, table.valueOf(row).bytes]));
  const kept = rows.filter((row) => row % 3 === 0);
  for (const row of rows) if (row % 3 !== 0) table.remove(row);
  const elsewhere = kept.filter((row) => table.valueOf(row).bytes !== pages.get(row));
  expect(elsewhere).not.toEqual([]);
  expect(elsewhere.filter((row) => !moved.has(row))).toEqual([]);
});
