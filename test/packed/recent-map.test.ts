import { expect, test } from 'vitest';
import { RecentMap } from '../../src/packed/recent-map.ts';

test('a map of recent entries forgets the one that was set longest ago, and keeps one that is set again', () => {
  const map = new RecentMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3);
  expect([...map]).toEqual([
    ['b', 2],
    ['a', 3],
  ]);
  map.set('c', 4);
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
});
