import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import process from 'node:process';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { OPEN } from './instruments/label-values.ts';
import type { Sections } from './instruments/sections.ts';

const ROLE_LABELS = ['api', 'device', 'controller', 'kubernetes'] as const;

/** @param version of this program */
export function processMetrics({ process: own }: Sections, version: string) {
  own
    .labelledGauge({
      name: 'muster_build_info',
      help: 'Always 1; the versions of Muster and of Node.js are its labels.',
      labels: { version: OPEN, node: OPEN },
      unit: '1',
    })
    .set({ version, node: process.version }, 1);
  // Without it an alert cannot tell a fleet that has no leader from one whose processes never lead.
  const roleOf = own.labelledGauge({
    name: 'muster_role',
    help: '1 where the process has the role, 0 where it has not.',
    labels: { role: ROLE_LABELS },
    unit: '0 or 1',
  });
  const rolesAre = (roles: ReadonlySet<string>): void => {
    for (const role of ROLE_LABELS) roleOf.set({ role }, roles.has(role) ? 1 : 0);
  };
  rolesAre(new Set());
  return {
    /** Called once, with the roles of the configuration. */
    rolesAre,
    logLinesDropped: own.counter({
      name: 'muster_log_lines_dropped_total',
      help: 'Lines of the log that nobody took from stdout, beyond the 1 MiB that waits.',
      unit: 'lines',
    }),
  };
}

/**
 * The client library counts these by walking over every connection, at each scrape: with 100,000 of them it blocks the
 * event loop for 0.2 s.
 */
const COSTLY = [
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_active_resources',
  'nodejs_active_resources_total',
];
const OPEN_FDS = 'process_open_fds';

/** The services of a process share its own series: nothing ends their timers and observers but its end. */
let collected: Registry | undefined;

/** The client library's own series. */
export function libraryMetrics(registry: Registry): void {
  collected ??= collect(new Registry());
  for (const { name } of collected.getMetricsAsArray()) {
    const metric = collected.getSingleMetric(name);
    if (metric) registry.registerMetric(metric);
  }
}

function collect(registry: Registry): Registry {
  collectDefaultMetrics({ register: registry });
  for (const name of COSTLY) registry.removeSingleMetric(name);
  if (process.platform !== 'linux') return registry;
  registry.removeSingleMetric(OPEN_FDS);
  const gauge: Gauge = new Gauge({
    name: OPEN_FDS,
    help: 'Number of open file descriptors.',
    registers: [registry],
    collect: async () => gauge.set(await openFileDescriptors().catch(() => Number.NaN)),
  });
  return registry;
}

const DESCRIPTORS = '/proc/self/fd';

/** Linux 6.2 and newer tell the number as the size of the directory; on an older one the names are counted. */
async function openFileDescriptors(): Promise<number> {
  const { size } = statSync(DESCRIPTORS);
  // One of the names is the directory's own, while it is read.
  return size > 0 ? size : (await readdir(DESCRIPTORS)).length - 1;
}

/** The units of the client library's own series that their names do not tell. */
export const NODE_UNITS: Readonly<Record<string, string>> = {
  process_open_fds: 'files',
  process_max_fds: 'files',
  nodejs_eventloop_utilization_summary: 'ratio',
  nodejs_eventloop_utilization_histogram: 'ratio',
  nodejs_version_info: '1',
};
