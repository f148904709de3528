import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { registerGauges, type Gauges } from './callback-gauges.ts';
import { fleetMetrics, type FleetMetrics } from './fleet-metrics.ts';
import { ROLE_LABELS } from './labels.ts';
import { requestMetrics, type RequestMetrics } from './request-metrics.ts';
import { storeMetrics, type StoreMetrics } from './store-metrics.ts';

/*
 * Metrics are a module of verbs: callers say what happened; names, labels and buckets are nobody else's business.
 * Labels come from closed sets (route templates, codes, results); account and app ids go to the log. docs/METRICS.md
 * has every series, and a test holds it to them.
 */

export interface Metrics extends RequestMetrics, FleetMetrics, StoreMetrics {
  readonly registry: Registry;
  /** What this process does, told once. */
  rolesAre(roles: ReadonlySet<string>): void;
}

export function createMetrics(version: string): Metrics & { gauges(read: Gauges): void } {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  new Gauge({
    name: 'muster_build_info',
    help: 'Always 1; the version is a label.',
    labelNames: ['version', 'node'],
    registers,
  })
    .labels(version, process.version)
    .set(1);

  return {
    registry,
    rolesAre: roleMetrics(registers),
    ...requestMetrics(registers),
    ...fleetMetrics(registers),
    ...storeMetrics(registers),
    gauges: (read) => registerGauges(registers, read),
  };
}

/** Who may lead at all: without it an alert cannot tell a fleet without a leader from a process that never leads. */
function roleMetrics(registers: Registry[]): Metrics['rolesAre'] {
  const gauge = new Gauge({
    name: 'muster_role',
    help: '1 where the process has the role, 0 where it has not.',
    labelNames: ['role'],
    registers,
  });
  for (const role of ROLE_LABELS) gauge.set({ role }, 0);
  return (roles) => {
    for (const role of ROLE_LABELS) gauge.set({ role }, roles.has(role) ? 1 : 0);
  };
}
