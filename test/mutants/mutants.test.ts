import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Mutant } from './mutant.ts';
import { MUTANTS } from './mutants.ts';
import { planted } from './planted.ts';

const slip: Mutant = { name: 'a', file: 'f.ts', search: '<', replacement: '<=', rule: 'R1: less.', caughtBy: [] };

test('each slip finds its place in the source, once, and changes it', () => {
  expect(MUTANTS.length).toBeGreaterThanOrEqual(40);
  for (const mutant of MUTANTS) expect(() => planted(mutant, readFileSync(mutant.file, 'utf8'))).not.toThrow();
});

test('no two slips have the same name, and the tests that caught them are there', () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  const missing = MUTANTS.flatMap(({ name, caughtBy }) =>
    caughtBy.filter((file) => !existsSync(file)).map((file) => `${name}: ${file}`),
  );
  expect(missing).toEqual([]);
});

test('a slip whose place is gone, or stands twice, or that changes nothing, is refused by name', () => {
  expect(planted(slip, 'a < b')).toBe('a <= b');
  expect(() => planted(slip, 'a > b')).toThrow(/^a: its search text occurs 0 times/);
  expect(() => planted(slip, 'a < b < c')).toThrow(/^a: its search text occurs 2 times/);
  expect(() => planted({ ...slip, replacement: '<' }, 'a < b')).toThrow(/changes nothing/);
});
