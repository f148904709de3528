import { expect, test } from 'vitest';
import { treeOf } from '../support/repository/source-tree.ts';

const LINE_MAX = 120;
const COMMENT = /^\s*\{?(?:\/\*|\*|\/\/)/;
/** A directive holds for the next line, and is itself one line. */
const DIRECTIVE = /\b(?:oxlint-disable|@ts-expect-error)/;

/** The lines of comments that are longer than those of code, which prettier wraps. */
const longIn = (text: string): readonly string[] =>
  text.split('\n').filter((line) => COMMENT.test(line) && line.length > LINE_MAX && !DIRECTIVE.test(line));

test('no line of a comment has more than 120 columns', () => {
  const words = (columns: number, begins: string): string => begins.padEnd(columns, ' word');
  expect(longIn(words(121, '// a note'))).toHaveLength(1);
  expect(longIn(words(121, '   * a line of a block'))).toHaveLength(1);
  expect(longIn(words(120, '// a note'))).toEqual([]);
  expect(longIn(words(121, "const text = 'a line of code'; // "))).toEqual([]);
  expect(longIn(words(121, '// oxlint-disable-next-line rule -- for a reason'))).toEqual([]);
  const files = ['src', 'test', 'web', 'clients', 'scripts', 'bin'].flatMap((folder) =>
    treeOf(folder, '**/*.{ts,tsx,mjs}').map(({ path, text }) => ({ path: `${folder}/${path}`, text })),
  );
  expect(files.length).toBeGreaterThan(1500);
  const written = files.filter(({ path }) => !path.includes('/generated/'));
  expect(written.flatMap(({ path, text }) => longIn(text).map((line) => `${path}: ${line.trim()}`))).toEqual([]);
});
