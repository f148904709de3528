import { describe, expect, test } from 'vitest';
import { circles, roomOf, sourceTree } from '../support/repository/source-tree.ts';

const tree = sourceTree();

/** From the ground up: a file imports its own room, or one of a lower rank; `import type` counts. */
const RANKS: readonly (readonly string[])[] = [
  [
    'log.ts',
    'version.ts',
    'time',
    'concurrency',
    'packed',
    'config',
    'metrics',
    'domain/limits.ts',
    'domain/refusal.ts',
    'domain/credentials',
    'controller/kubernetes/schema',
  ],
  ['store', 'controller/kubernetes/client'],
  ['store/etcd/wire', 'store/sqlite', 'store/watch-cache', 'domain/records'],
  ['store/etcd/lease', 'domain/fleet', 'domain/rate-window'],
  ['store/etcd', 'domain/rate-window/shared', 'domain/keys', 'domain/status-history', 'domain/audit'],
  ['domain/history', 'domain/replicas', 'domain/mutation'],
  ['domain/accounts', 'domain/apps', 'api/http'],
  [
    'domain/devices',
    'domain/otel-config',
    'domain/metering',
    'domain/backup',
    'domain/cleanup',
    'domain/resource-bindings',
    'api/listener',
  ],
  ['domain/review-queue', 'domain/key-rotation', 'api/v1/operations', 'controller/kubernetes/runtime', 'cli/terminal'],
  ['api/v1', 'api/device', 'api/operator', 'controller', 'controller/kubernetes/resources', 'cli/commands/kubernetes'],
  ['controller/kubernetes'],
  ['service'],
  ['cli/commands', 'cli/commands/doctor'],
  ['cli'],
  ['main.ts'],
];
const rankOf = (path: string): number => RANKS.findIndex((rooms) => rooms.includes(roomOf(path)));

describe('the floors', () => {
  test('every room has a rank', () => {
    expect(tree.length).toBeGreaterThan(250);
    expect(tree.filter(({ path }) => rankOf(path) === -1).map(({ path }) => path)).toEqual([]);
  });

  test('no import goes to a room of the same or of a higher rank', () => {
    const upward = tree.flatMap(({ path, imports }) =>
      imports.filter((to) => roomOf(to) !== roomOf(path) && rankOf(to) >= rankOf(path)).map((to) => `${path} → ${to}`),
    );
    expect(upward).toEqual([]);
  });

  test('no files import each other in a circle', () => {
    expect(circles(tree).map((circle) => circle.join(' → '))).toEqual([]);
  });
});
