import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { GENERATED_HERE } from '../../scripts/generated-documents.ts';
import { describedVariables } from '../../src/config/described.ts';
import { VARIABLES } from '../../src/config/environment.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const textOf = (path: string): string => readFileSync(resolve(ROOT, path), 'utf8');

test.each(GENERATED_HERE)('$path is what `npm run docs` writes', async ({ path, text }) => {
  expect(textOf(path)).toBe(await text());
});

test('docs/CONFIGURATION.md has a row for each variable, once', () => {
  const rows = [...textOf('docs/CONFIGURATION.md').matchAll(/^\| `(MUSTER_\w+)` /gm)].map(([, name = '']) => name);
  expect(rows.sort()).toEqual([...VARIABLES].sort());
});

test('the rule of each variable is in words of this project, in one cell', () => {
  const rules = describedVariables().map(({ name, rule }) => ({ name, rule }));
  expect(rules.filter(({ rule }) => /Invalid|expected|\|/.test(rule))).toEqual([]);
});
