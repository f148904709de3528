import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { NODES, QUICK, SYSTEM } from './support/groups.ts';

test.each([
  ['quick', QUICK],
  ['system', SYSTEM],
  ['nodes', NODES],
])('each line of the group %s names tests that are there', (_, patterns) => {
  expect(patterns.filter((pattern) => globSync(pattern).length === 0)).toEqual([]);
});
