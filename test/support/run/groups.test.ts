import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LONGEST, NODES, QUICK, QUICK_IN_MEMORY, SEEDED, SYSTEM } from './groups.ts';

test.each([
  ['the group quick', QUICK],
  ['those that are quick in memory', QUICK_IN_MEMORY],
  ['those with properties', SEEDED],
  ['the group system', SYSTEM],
  ['the group nodes', NODES],
  ['those that take minutes', LONGEST],
])('each line of %s names tests that are there', (_, patterns) => {
  expect(patterns.filter((pattern) => globSync(pattern).length === 0)).toEqual([]);
});

test('each test whose runs MUSTER_TEST_EFFORT multiplies is one of those with properties', () => {
  const grouped = new Set([...SEEDED, ...SYSTEM].flatMap((pattern) => globSync(pattern)));
  const isSeeded = (file: string): boolean => /^import .*support\/run\/effort\.ts/m.test(readFileSync(file, 'utf8'));
  // Those of test/nightly are of that group alone.
  const files = globSync('test/**/*.test.ts').filter((file) => !file.startsWith('test/nightly/'));
  const seeded = files.filter((file) => isSeeded(file));
  expect(seeded.length).toBeGreaterThan(20);
  expect(seeded.filter((file) => !grouped.has(file))).toEqual([]);
});
