/** Tests of pure rules: they start no process, write no file and need no etcd (`npm run test:quick`). */
export const QUICK: readonly string[] = [];

/** Tests in which real processes keep real deadlines, and tests on a real Prometheus or API server (`npm run test:system`). */
export const SYSTEM: readonly string[] = [
  'test/system/**/*.test.ts',
  'test/chaos/**/*.test.ts',
  'test/kubernetes/**/*.test.ts',
  'test/monitoring/live.test.ts',
];

/** Tests on two real nodes and on the image (`npm run test:nodes`). */
export const NODES: readonly string[] = ['image', 'cluster', 'installation', 'availability'].map(
  (name) => `test/kubernetes/${name}.test.ts`,
);
