import { expect, test } from 'vitest';
import { RecentMap } from '../../src/packed/recent-map.ts';

test('a map of recent entries forgets the one that was set longest ago, and keeps one that is set again', () => {
  const map = new RecentMap<string, number>(3).set('a', 1).set('b', 2).set('c', 3).set('b', 4);
  expect([...map.keys()]).toEqual(['a', 'c', 'b']);
  expect([...map.set('d', 5).keys()]).toEqual(['c', 'b', 'd']);
  expect(map.get('b')).toBe(4);
});
