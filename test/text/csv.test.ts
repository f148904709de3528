import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BadCsv, csvRows } from '../../src/text/csv-rows.ts';
import { csvRow } from '../../src/text/csv.ts';
import { runs } from '../support/run/effort.ts';

/* What a text becomes is told where usage is asked for (test/api/operator/usage-formats.test.ts). */

test.each<[(string | number)[], string, string]>([
  [[-1, 1.5, 0], '"-1","1.5","0"', 'a number is no formula, whatever its sign'],
  [['-1', '1.5', ''], `"'-1","1.5",""`, 'a text that looks like one may be'],
  [[], '', 'no fields'],
])('%j → %s (%s)', (fields, row) => {
  expect(csvRow(fields)).toBe(row);
});

/** A reader of RFC 4180. */
function fieldsOf(row: string): string[] {
  return [...row.matchAll(/"((?:[^"]|"")*)"(?:,|$)/g)].map(([, field = '']) => field.replaceAll('""', '"'));
}

test('a reader gets as many fields as were written, on one line, and none of them is a formula', () => {
  const word = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(' ', '\t', '\r', '\n', '"', ',', ';', '=', '+', '-', '@', '＝', 'a', '\u200b') }),
  );
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (fields) => {
      const row = csvRow(fields);
      expect(row).not.toMatch(/[\r\n\u0085\u2028\u2029]/);
      const read = fieldsOf(row);
      expect(read).toHaveLength(fields.length);
      for (const [at, field] of read.entries()) {
        expect(field).not.toMatch(/^[\s\p{C}]*[=+\-@＝＋－＠]/u);
        if (/^[\w ]*$/.test(fields[at] ?? '')) expect(field).toBe(fields[at]);
      }
    }),
    { numRuns: runs(300) },
  );
});

describe('rows', () => {
  test.each<[string, [number, string[]][]]>([
    ['', []],
    ['a', [[1, ['a']]]],
    [
      'a,b\r\nc,d\n',
      [
        [1, ['a', 'b']],
        [2, ['c', 'd']],
      ],
    ],
    [
      'a,\n\n,b\n',
      [
        [1, ['a', '']],
        [3, ['', 'b']],
      ],
    ],
    [
      '"a, ""b""\nc",d\ne',
      [
        [1, ['a, "b"\nc', 'd']],
        [3, ['e']],
      ],
    ],
    ['"",""', [[1, ['', '']]]],
    [
      '\r\n\n"a\r\nb","🌍"\r\nc',
      [
        [3, ['a\r\nb', '🌍']],
        [5, ['c']],
      ],
    ],
    ['""\n', [[1, ['']]]],
    [
      '  \na\r\r\n"b\rc",d\re',
      [
        [2, ['a']],
        [4, ['b\rc', 'd']],
        [6, ['e']],
      ],
    ],
    [' a ;b\t', [[1, [' a ;b\t']]]],
  ])('%j', (text, rows) => {
    expect([...csvRows(text)].map(({ line, fields }) => [line, fields])).toEqual(rows);
  });

  test.each([
    ['"a', 1],
    ['a\n"b"c\n', 2],
    ['a\nb"c\n', 2],
    ['"a\nb"\n"', 3],
    ['a\r"b"c\r', 2],
  ])('%j is none from line %j on', (text, line) => {
    expect(() => [...csvRows(text)]).toThrow(BadCsv);
    expect(() => [...csvRows(text)]).toThrow(`line ${line}:`);
  });

  test('whatever is written is read again', () => {
    const field = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', '😀'), maxLength: 6 });
    const row = fc.array(field, { minLength: 2, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 4 }), fc.constantFrom('\n', '\r\n', '\r'), (rows, end) => {
        const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
        const text = rows.map((fields) => `${fields.map(quoted).join(',')}${end}`).join('');
        expect([...csvRows(text)].map(({ fields }) => fields)).toEqual(rows);
      }),
      { numRuns: runs(300) },
    );
  });
});
