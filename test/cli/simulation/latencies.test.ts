import { expect, test } from 'vitest';
import { Latencies } from '../../../src/cli/simulation/latencies.ts';

test('latencies are read back within two percent', () => {
  const latencies = new Latencies();
  expect(latencies.at(0.5)).toBe(0);
  for (let ms = 1; ms <= 10_000; ms += 1) latencies.add(ms);
  for (const share of [0.5, 0.9, 0.99]) {
    expect(latencies.at(share) / (10_000 * share)).toBeGreaterThan(0.98);
    expect(latencies.at(share) / (10_000 * share)).toBeLessThan(1.02);
  }
});
