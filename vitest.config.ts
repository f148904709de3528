import { availableParallelism } from 'node:os';
import process from 'node:process';
import { defineConfig } from 'vitest/config';
import { NODES, QUICK, QUICK_IN_MEMORY, SEEDED, SYSTEM } from './test/support/run/groups.ts';
import LongestFirst from './test/support/run/longest-first.ts';

// A condition that is waited for comes late on a busy machine; the second that vitest gives it would be a guess.
const PATIENCE = { poll: { timeout: 30_000, interval: 20 } };
// A test that hangs is found a little later; one on a machine that others slow down by ten is let through.
const TIMES = { testTimeout: 240_000, hookTimeout: 240_000, expect: PATIENCE };
// What runs real processes for minutes.
const LONG = { testTimeout: 600_000, hookTimeout: 900_000, expect: PATIENCE };
// No file changes what others share, so that a worker need not begin anew for each of them.
const SHARED = { pool: 'forks', isolate: false } as const;
// One etcd for all files of a project.
const ON_ETCD = { globalSetup: ['test/support/run/global-setup.ts'] };
// A test that starts a process, writes a file or loads native code fails in a worker with these: it is not a quick one.
const CONFINED = { execArgv: ['--permission', '--allow-fs-read=*'] };

export default defineConfig({
  test: {
    reporters: ['default', 'test/support/run/closing-line.ts'],
    // The tests wait for stores and sockets about as long as they compute.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...TIMES,
          ...SHARED,
          ...CONFINED,
          name: 'quick',
          include: [...QUICK, ...QUICK_IN_MEMORY],
          provide: { memoryAlone: true },
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...TIMES,
          ...SHARED,
          ...ON_ETCD,
          name: 'rules',
          include: ['test/**/*.test.ts'],
          exclude: [...QUICK, ...SYSTEM, ...NODES, 'test/nightly/**'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...LONG,
          globalSetup: [
            ...ON_ETCD.globalSetup,
            'test/cluster/support/control-plane/shared-plane-setup.ts',
            'test/support/run/pages-setup.ts',
          ],
          name: 'system',
          include: [...SYSTEM],
          exclude: [...NODES, ...QUICK],
          // Many wait for leases, watches and alerts, which take the time that they take.
          maxWorkers: availableParallelism() + 1,
          sequence: { groupOrder: 1 },
        },
      },
      // Two real nodes and the image: asked for by name (`npm run test:nodes`), since they take long.
      {
        test: {
          ...LONG,
          name: 'nodes',
          include: [...NODES],
          // Two clusters at a time: each waits for Kubernetes longer than it computes.
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...LONG,
          ...ON_ETCD,
          name: 'nightly',
          include: ['test/nightly/**/*.test.ts', ...SEEDED],
          // An hour for what takes a minute at the usual effort.
          testTimeout: 4 * 3_600_000,
          env: { MUSTER_TEST_EFFORT: process.env['MUSTER_TEST_EFFORT'] ?? '50' },
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
