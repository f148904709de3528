import { describe, expect, test } from 'vitest';
import {
  connectionBounds,
  CONNECTIONS_MAX,
  fewerInWords,
  halfAtMost,
  hasFew,
  inProportion,
  OPEN_FILES_ENOUGH,
  OPEN_FILES_MIN,
  type ConnectionBounds,
} from '../../../src/service/bounds/connection-bounds.ts';

const ALL = ['ops', 'api', 'device', 'panel'] as const;
const sum = ({ api, device, ops, panel }: ConnectionBounds): number => api + device + ops + panel;

test('without a limit, and where it is enough, each listener has what it takes', () => {
  expect(connectionBounds(ALL, undefined)).toEqual(CONNECTIONS_MAX);
  expect(connectionBounds(ALL, OPEN_FILES_ENOUGH)).toEqual(CONNECTIONS_MAX);
  expect(connectionBounds(ALL, 1_048_576)).toEqual(CONNECTIONS_MAX);
  expect(fewerInWords(CONNECTIONS_MAX)).toBeUndefined();
});

test.each([
  [OPEN_FILES_ENOUGH - 20, { api: 10_000, device: 99_981, ops: 1000, panel: 5000 }],
  [65_536, { api: 7680, device: 47_760, ops: 1000, panel: 5000 }],
  [1024, { api: 120, device: 600, ops: 120, panel: 120 }],
  [200, { api: 17, device: 85, ops: 17, panel: 17 }],
  [OPEN_FILES_MIN, { api: 16, device: 80, ops: 16, panel: 16 }],
])('with %i open files the listeners share what is left, and devices have most of it', (openMax, bounds) => {
  expect(connectionBounds(ALL, openMax)).toEqual(bounds);
});

test('the connections of all listeners and 64 files of the process are never more than may be open', () => {
  for (const names of [ALL, ['ops', 'api'], ['ops', 'device'], ['ops']] as const) {
    for (let openMax = OPEN_FILES_MIN; openMax < 2 * OPEN_FILES_ENOUGH; openMax = Math.ceil(openMax * 1.01)) {
      const bounds = connectionBounds(names, openMax);
      expect(sum(bounds) + 64).toBeLessThanOrEqual(openMax);
      for (const name of names) expect(bounds[name]).toBeGreaterThanOrEqual(16);
    }
  }
});

test('a listener that a process does not have leaves its part to the others', () => {
  expect(connectionBounds(['ops', 'api'], 1024)).toEqual({ api: 840, device: 0, ops: 120, panel: 0 });
});

test('a limit with which no listener has room is refused, and says how much it takes', () => {
  expect(() => connectionBounds(ALL, OPEN_FILES_MIN - 1)).toThrow(
    'The limit of open files is 191, and must be 192 at least: raise it (ulimit -n).',
  );
  expect(connectionBounds(ALL, OPEN_FILES_MIN).ops).toBe(16);
});

test('the listeners that have fewer are named', () => {
  expect(fewerInWords(connectionBounds(ALL, 65_536))).toBe('7680 of 10000 for api, 47760 of 100000 for device');
  expect(fewerInWords(connectionBounds(['ops'], 1_000_000))).toBeUndefined();
});

test('where one has less than a tenth, a person should know', () => {
  expect([200, 1024, 10_000].map((openMax) => hasFew(connectionBounds(ALL, openMax)))).toEqual([true, true, true]);
  expect([20_000, 65_536].map((openMax) => hasFew(connectionBounds(ALL, openMax)))).toEqual([false, false]);
});

describe('a bound that was made for all connections', () => {
  const few = connectionBounds(ALL, 200);
  test('is smaller in proportion, and never nothing', () => {
    expect(inProportion(50_000, 'device', few)).toBe(42);
    expect(inProportion(500, 'ops', few)).toBe(8);
    expect(inProportion(20, 'device', few)).toBe(1);
  });

  test('stays as it is with all of them', () => {
    expect(inProportion(50_000, 'device', CONNECTIONS_MAX)).toBe(50_000);
  });
});

test('what holds a connection has half of them at most', () => {
  expect([85, 3, 1, 100_000, 200_000].map((connections) => halfAtMost(50_000, connections))).toEqual([
    42, 1, 1, 50_000, 50_000,
  ]);
});
