import { createControllerMetrics, type ControllerMetrics } from './controller-metrics.ts';
import { createKubernetesMetrics, type KubernetesMetrics } from './kubernetes-metrics.ts';
import { createRateMetrics, type RateMetrics } from './rate-window-metrics.ts';
import { createMetrics, type Gauges, type Metrics } from './service-metrics.ts';

export type AllMetrics = Metrics & ControllerMetrics & RateMetrics & KubernetesMetrics & { gauges(read: Gauges): void };

/** Every series of a process, whatever its roles: what is not registered here is missing in docs/METRICS.md, too. */
export function createAllMetrics(version: string): AllMetrics {
  const base = createMetrics(version);
  return {
    ...base,
    ...createControllerMetrics(base.registry),
    ...createRateMetrics(base.registry),
    ...createKubernetesMetrics(base.registry),
  };
}
