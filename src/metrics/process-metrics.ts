import process from 'node:process';
import { collectDefaultMetrics, type Registry } from 'prom-client';
import { OPEN, type Section } from './instruments.ts';
import { ROLE_LABELS } from './labels.ts';

export interface ProcessMetrics {
  /** Called once, with the roles of the configuration. */
  rolesAre(roles: ReadonlySet<string>): void;
}

export function processMetrics(
  registry: Registry,
  section: (title: string) => Section,
  version: string,
): ProcessMetrics {
  collectDefaultMetrics({ register: registry });
  const own = section('Process');
  own
    .labelledGauge({
      name: 'muster_build_info',
      help: 'Always 1; the versions of Muster and of Node.js are its labels.',
      labels: { version: OPEN, node: OPEN },
      unit: '1',
      since: '0.1.0',
    })
    .set({ version, node: process.version }, 1);
  // Without it an alert cannot tell a fleet that has no leader from one whose processes never lead.
  const roleOf = own.labelledGauge({
    name: 'muster_role',
    help: '1 where the process has the role, 0 where it has not.',
    labels: { role: ROLE_LABELS },
    unit: '0 or 1',
    since: '0.1.0',
  });
  const rolesAre = (roles: ReadonlySet<string>): void => {
    for (const role of ROLE_LABELS) roleOf.set({ role }, roles.has(role) ? 1 : 0);
  };
  rolesAre(new Set());
  return { rolesAre };
}

/** The units of the client library's own series that their names do not tell. */
export const NODE_UNITS: Readonly<Record<string, string>> = {
  process_open_fds: 'files',
  process_max_fds: 'files',
  nodejs_eventloop_utilization_summary: 'ratio',
  nodejs_eventloop_utilization_histogram: 'ratio',
  nodejs_active_resources: 'resources',
  nodejs_active_resources_total: 'resources',
  nodejs_active_handles: 'handles',
  nodejs_active_handles_total: 'handles',
  nodejs_active_requests: 'requests',
  nodejs_active_requests_total: 'requests',
  nodejs_version_info: '1',
};
/** The version of Muster since which the client library's own series are exposed. */
export const NODE_SINCE = '0.1.0';
