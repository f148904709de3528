import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { ROOT } from '../../support/repository/source-tree.ts';

/*
 * The scripts of the panel have nothing of the service in them but the rules that run in the browser as well, and are
 * those that are shipped, whatever program has asked for the build.
 */

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

test('they are built for production, and name no file of the machine that built them', () => {
  const told = [ROOT, 'fileName:'];
  expect(told.filter((mark) => scripts.some((text) => text.includes(mark)))).toEqual([]);
});

test('the first load of the panel has at most 60 KB', () => {
  const page = readFileSync(join(ROOT, 'web/dist/index.html'), 'utf8');
  const files = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+\.(?:js|css))"/g)].map(([, name = '']) => name);
  expect(files.some((name) => name.endsWith('.css'))).toBe(true);
  const bytes = files.map((name) => gzipSync(readFileSync(join(ROOT, 'web/dist', name))).length);
  expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(60_000);
});
