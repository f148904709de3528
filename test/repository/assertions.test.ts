import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const TEST = resolve(import.meta.dirname, '..');
const CALL = /\.toMatchObject\((?<expected>[^;]*?)\);/gs;
/** Where a slash begins no regular expression: within texts, comments, and the matcher that is right. */
const OTHER_SLASHES = /stringMatching\(\s*\/.*?\/[a-z]*,?\s*\)|'[^'\n]*'|`[^`]*`|\/\/[^\n]*/gs;
const BARE = /[:,[(]\s*\/[^/*]/;

/**
 * The assertions of a test that compare a field with a regular expression: `toMatchObject` takes it as an object
 * without fields.
 */
const bareIn = (text: string): readonly string[] =>
  [...text.matchAll(CALL)]
    .map(({ groups }) => groups?.['expected'] ?? '')
    .filter((expected) => BARE.test(expected.replaceAll(OTHER_SLASHES, '')));

test('no assertion has a regular expression within toMatchObject, where it matches everything', () => {
  expect(bareIn('expect(said).toMatchObject({ code: 1, message: /right/ });')).toHaveLength(1);
  expect(bareIn('expect(said).toMatchObject([409, /right/]);')).toHaveLength(1);
  expect(bareIn('expect(said).toMatchObject({ message: expect.stringMatching(/right/) as string });')).toEqual([]);
  const files = readdirSync(TEST, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts') && path !== 'repository/assertions.test.ts')
    .map((path) => ({ path, text: readFileSync(join(TEST, path), 'utf8') }));
  expect(files.length).toBeGreaterThan(300);
  expect(files.filter(({ text }) => bareIn(text).length > 0).map(({ path }) => path)).toEqual([]);
});
