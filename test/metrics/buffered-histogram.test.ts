import fc from 'fast-check';
import { Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { BufferedHistogram } from '../../src/metrics/buffered-histogram.ts';

const CONFIGURATION = { name: 'h', help: 'words', labelNames: ['route', 'status'], buckets: [0.5, 1, 2] };

/** Halves add up without a rest: the order of addition changes no sum. */
const observations = fc.array(
  fc.record({
    route: fc.constantFrom('/a', '/b', 'with "quotes"\n'),
    status: fc.constantFrom('200', '404'),
    value: fc.integer({ min: 0, max: 8 }).map((halves) => halves / 2),
  }),
);

test('tells what the own histogram of the library tells', async () => {
  await fc.assert(
    fc.asyncProperty(observations, async (all) => {
      const [own, theirs] = [new Registry(), new Registry()];
      const buffered = new BufferedHistogram({ ...CONFIGURATION, registers: [own] });
      const library = new Histogram({ ...CONFIGURATION, registers: [theirs] });
      for (const { route, status, value } of all) {
        buffered.of(route, status).observe(value);
        library.observe({ route, status }, value);
      }
      expect(await own.metrics()).toBe(await theirs.metrics());
    }),
  );
});
