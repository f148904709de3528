import { defineConfig } from 'vitest/config';

// A condition that is waited for comes late on a busy machine; the second that vitest gives it would be a guess.
const PATIENCE = { poll: { timeout: 30_000, interval: 20 } };
// A test that hangs is found a little later; one on a machine that others slow down by ten is let through.
const TIMES = { testTimeout: 240_000, hookTimeout: 240_000, expect: PATIENCE };
// What runs a whole cluster or breaks things on purpose has the machine to itself, one file after the other.
const ON_NODES = ['image', 'cluster', 'installation', 'availability'].map((name) => `test/kubernetes/${name}.test.ts`);
const ALONE = { testTimeout: 600_000, hookTimeout: 900_000, expect: PATIENCE, fileParallelism: false };

export default defineConfig({
  test: {
    reporters: ['default', 'test/support/closing-line.ts'],
    // Here and not in the projects, so that it runs once for all of them.
    globalSetup: ['test/support/global-setup.ts'],
    projects: [
      {
        test: {
          ...TIMES,
          name: 'muster',
          include: ['test/**/*.test.ts'],
          exclude: ['test/chaos/**', 'test/kubernetes/**'],
          sequence: { groupOrder: 0 },
        },
      },
      { test: { ...ALONE, name: 'chaos', include: ['test/chaos/**/*.test.ts'], sequence: { groupOrder: 1 } } },
      {
        test: {
          ...ALONE,
          name: 'kubernetes',
          include: ['test/kubernetes/**/*.test.ts'],
          exclude: ON_NODES,
          sequence: { groupOrder: 2 },
        },
      },
      // Two real nodes and the image: asked for by name (`npm run test:nodes`), since they take long.
      { test: { ...ALONE, name: 'nodes', include: ON_NODES, sequence: { groupOrder: 3 } } },
    ],
  },
});
