import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { NODES, QUICK, SYSTEM } from './test/support/groups.ts';

// A condition that is waited for comes late on a busy machine; the second that vitest gives it would be a guess.
const PATIENCE = { poll: { timeout: 30_000, interval: 20 } };
// A test that hangs is found a little later; one on a machine that others slow down by ten is let through.
const TIMES = { testTimeout: 240_000, hookTimeout: 240_000, expect: PATIENCE };
// What runs real processes for minutes.
const LONG = { testTimeout: 600_000, hookTimeout: 900_000, expect: PATIENCE };
// No file changes what others share, so that a worker need not begin anew for each of them.
const SHARED = { pool: 'forks', isolate: false } as const;

export default defineConfig({
  test: {
    reporters: ['default', 'test/support/closing-line.ts'],
    // Here and not in the projects, so that it runs once for all of them.
    globalSetup: ['test/support/global-setup.ts'],
    // The tests wait for stores and sockets about as long as they compute.
    maxWorkers: availableParallelism() + 1,
    projects: [
      { test: { ...TIMES, ...SHARED, name: 'quick', include: [...QUICK], sequence: { groupOrder: 0 } } },
      {
        test: {
          ...TIMES,
          ...SHARED,
          name: 'rules',
          include: ['test/**/*.test.ts'],
          exclude: [...QUICK, ...SYSTEM, ...NODES, 'test/nightly/**'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...LONG,
          name: 'system',
          include: [...SYSTEM],
          exclude: [...NODES],
          // Two at a time: each of them starts processes of its own.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      // Two real nodes and the image: asked for by name (`npm run test:nodes`), since they take long.
      {
        test: { ...LONG, name: 'nodes', include: [...NODES], fileParallelism: false, sequence: { groupOrder: 2 } },
      },
      {
        test: {
          ...LONG,
          name: 'nightly',
          include: ['test/nightly/**/*.test.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
