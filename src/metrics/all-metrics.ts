import type { OperatorMetrics } from '../controller/kubernetes/metrics.ts';
import type { RateWindowMetrics } from '../domain/rate-window/shared/metrics.ts';
import type { Gauges } from './callback-gauges.ts';
import { createControllerMetrics, type ControllerMetrics } from './controller-metrics.ts';
import { createKubernetesMetrics } from './kubernetes-metrics.ts';
import { createRateMetrics } from './rate-window-metrics.ts';
import { createMetrics, type Metrics } from './service-metrics.ts';

export type AllMetrics = Metrics &
  ControllerMetrics &
  RateWindowMetrics &
  OperatorMetrics & { gauges(read: Gauges): void };

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
