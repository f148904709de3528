import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import type { Cell, Column } from '../../../src/cli/output/columns.ts';
import { renderTable } from '../../../src/cli/output/table.ts';
import { widthOf } from '../../../src/cli/output/width.ts';
import { runs } from '../../support/run/effort.ts';

interface App {
  readonly id: string;
  readonly name: string;
  readonly note: string;
  readonly polls: number;
  readonly seen: string | null;
}
const NOW = Date.UTC(2026, 5, 1, 12);
const APPS: readonly App[] = [
  { id: 'a1b2c3d4e5', name: 'the checkout in Berlin', note: 'behind a proxy', polls: 7, seen: '2026-06-01T11:57:00Z' },
  { id: 'f6', name: 'x', note: '', polls: 1234, seen: null },
];
const COLUMNS: readonly Column<App>[] = [
  { head: 'APP', of: ({ id }) => id },
  { head: 'NAME', of: ({ name }) => name, kind: 'text' },
  { head: 'NOTE', of: ({ note }) => note, kind: 'text', minor: true },
  { head: 'POLLS', of: ({ polls }) => polls, kind: 'number' },
  { head: 'LAST SEEN', of: ({ seen }) => seen, kind: 'time' },
];
const plain = (columns?: number): string => renderTable(COLUMNS, APPS, { columns, colours: false, now: NOW });

describe('a name that somebody chose', () => {
  const shown = (name: string, columns?: number): string => {
    const [first] = APPS;
    const app = { ...(first as App), name };
    return renderTable(COLUMNS, [app], { columns, colours: false, now: NOW }).split('\n')[1] ?? '';
  };

  test('from right to left turns nothing beside it, whole or cut; one that is not seen is a dash beside the id', () => {
    expect(shown('שרה')).toBe('a1b2c3d4e5  \u2068שרה\u2069   behind a proxy      7  3 min ago');
    const cut = shown('שרה '.repeat(20), 60);
    expect(cut).toMatch(/\u2068[^\u2069]*…\u2069/);
    expect(shown('   ')).toMatch(/^a1b2c3d4e5 {2}- /);
    expect(shown('a\u202eb')).toContain('a\\u202eb');
  });
});

test.each([
  ['한국어', 'Hangul'],
  ['ｶﾞｷﾞ', 'katakana of half width with its marks'],
  ['नमस्ते', 'Devanagari'],
  ['தமிழ்', 'Tamil'],
  ['👨‍👩‍👧‍👦 中文', 'a family, whose joiners are escaped, and Han'],
  ['e\u0301\u0323', 'marks over and under a letter'],
])('the columns behind %s stand where those of another line stand (%s)', (name) => {
  const [first] = APPS;
  const both = [name, 'x'.repeat(20)].map((each) => ({ ...(first as App), name: each }));
  const lines = renderTable(COLUMNS, both, { columns: undefined, colours: false, now: NOW }).split('\n');
  const [own, other] = lines.slice(1, 3).map((line) => stringWidth(line.slice(0, line.indexOf('behind a proxy'))));
  expect(own).toBe(other);
  expect(own).toBeGreaterThanOrEqual(34);
});

describe('the width', () => {
  test('without a terminal nothing is cut; numbers stand to the right, instants are relative', () => {
    expect(plain()).toBe(
      [
        'APP         NAME                    NOTE            POLLS  LAST SEEN',
        'a1b2c3d4e5  the checkout in Berlin  behind a proxy      7  3 min ago',
        'f6          x                       -                1234  -',
        '',
      ].join('\n'),
    );
  });

  test('a terminal that is as wide as the table shows it whole', () => {
    expect(plain(68)).toBe(plain());
  });

  test('one column less, and what is minor goes first', () => {
    expect(plain(67)).toBe(
      [
        'APP         NAME                    POLLS  LAST SEEN',
        'a1b2c3d4e5  the checkout in Berlin      7  3 min ago',
        'f6          x                        1234  -',
        '',
      ].join('\n'),
    );
  });

  test('then words are cut', () => {
    expect(plain(45).split('\n')[1]).toBe('a1b2c3d4e5  the checkout i…      7  3 min ago');
  });

  test('ids and numbers are never cut, however narrow it is', () => {
    expect(plain(1)).toBe(
      [
        'APP         NAME      POLLS  LAST SEEN',
        'a1b2c3d4e5  the che…      7  3 min ago',
        'f6          x          1234  -',
        '',
      ].join('\n'),
    );
  });

  test('the widest words give first', () => {
    const columns: readonly Column<readonly [string, string]>[] = [
      { head: 'ONE', of: ([one]) => one, kind: 'text' },
      { head: 'OTHER', of: ([, other]) => other, kind: 'text' },
    ];
    const table = renderTable(columns, [['a'.repeat(12), 'b'.repeat(30)]], { columns: 32, colours: false, now: NOW });
    expect(table.split('\n')[1]).toBe(`${'a'.repeat(12)}  ${'b'.repeat(17)}…`);
  });

  test('no line is wider than the terminal where words can give enough, and each keeps its ids', () => {
    const word = fc.string({ unit: fc.constantFrom('a', ' ', '中', '👩‍🚀', '\u001b', '\n'), maxLength: 60 });
    const app = fc.record({ id: fc.constantFrom('a1', 'b22', 'c333'), name: word, note: word });
    const columns: readonly Column<{ id: string; name: string; note: string }>[] = [
      { head: 'APP', of: ({ id }) => id },
      { head: 'NAME', of: ({ name }) => name, kind: 'text' },
      { head: 'NOTE', of: ({ note }) => note, kind: 'text' },
    ];
    fc.assert(
      fc.property(fc.array(app, { maxLength: 5 }), fc.integer({ min: 24, max: 90 }), (apps, width) => {
        const lines = renderTable(columns, apps, { columns: width, colours: false, now: NOW }).split('\n').slice(0, -1);
        expect(lines).toHaveLength(apps.length + 1);
        for (const [at, line] of lines.entries()) {
          expect(widthOf(line)).toBeLessThanOrEqual(width);
          if (at > 0) expect(line.startsWith(`${apps[at - 1]?.id ?? '?'} `)).toBe(true);
          expect(line).not.toContain('\u001b');
        }
      }),
      { numRuns: runs(100) },
    );
  });
});

describe('colours', () => {
  const toned: readonly Column<App>[] = [
    { head: 'APP', of: ({ id }) => id, tone: ({ polls }) => (polls > 100 ? 'bad' : undefined) },
    { head: 'POLLS', of: ({ polls }) => polls, kind: 'number' },
  ];
  test('are for titles and tones, and count for no width', () => {
    const table = renderTable(toned, APPS, { columns: 80, colours: true, now: NOW });
    expect(table).toBe(
      '\u001b[1mAPP       \u001b[22m  \u001b[1mPOLLS\u001b[22m\na1b2c3d4e5      7\n\u001b[31mf6        \u001b[39m   1234\n',
    );
    const without = renderTable(toned, APPS, { columns: 80, colours: false, now: NOW });
    expect(stripVTControlCharacters(table)).toBe(without);
  });
});

test.each<[Cell, string, string]>([
  ['not a time', 'not a time', 'what is no instant is shown as it is'],
  [NOW - 1000, '1 s ago', 'milliseconds'],
  [null, '-', 'nothing'],
  [undefined, '-', 'nothing'],
  ['', '-', 'an empty text'],
  [true, 'yes', 'a truth'],
  [false, 'no', 'its contrary'],
  [NOW + 5000, 'in 5 s', 'an instant to come'],
])('the cell %j is %j (%s)', (cell, told) => {
  const table = renderTable([{ head: 'X', of: () => cell, kind: 'time' }], [1], {
    columns: 80,
    colours: false,
    now: NOW,
  });
  expect(table).toBe(`X\n${told}\n`);
});
