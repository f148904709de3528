import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../support/repository/source-tree.ts';

/* The scripts of the panel have nothing of the service in them but the rules that run in the browser as well. */

const scripts = globSync(join(ROOT, 'web/dist/assets/*.js')).map((path) => readFileSync(path, 'utf8'));

/** Each has a text that no build takes out or renames: the name of a property, or a part of what it writes. */
const MARKS = [
  ['zod', '_zod', ['node_modules/zod/v4/core/core.js']],
  ['prom-client', '# HELP ', ['node_modules/prom-client/lib/registry.js']],
  ['a feature of the service', 'sweeps:', globSync('src/domain/**/feature.ts', { cwd: ROOT })],
] as const;

test.each(MARKS)('%s is in none of them', (_name, mark, files) => {
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter((file) => !readFileSync(join(ROOT, file), 'utf8').includes(mark))).toEqual([]);
  expect(scripts.length).toBeGreaterThan(0);
  expect(scripts.filter((text) => text.includes(mark))).toEqual([]);
});

test('they ask for nothing of Node', () => {
  expect(scripts.flatMap((text) => text.match(/["'`]node:[a-z_/]+["'`]/g) ?? [])).toEqual([]);
});
