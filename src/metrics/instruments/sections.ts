import type { Registry } from 'prom-client';
import { Section } from './section.ts';

/** The sections of docs/METRICS.md in its order. A room adds its series to them in its own `metrics.ts`. */
export type Sections = ReturnType<typeof openSections>;

/** @param registry that a scrape reads */
export function openSections(registry: Registry) {
  const section = (title: string, note?: string): Section => new Section(registry, title, note);
  return {
    process: section('Process'),
    requests: section('Requests'),
    files: section(
      'Files',
      'A file is named by its variable, also where it lies in the data directory. A certificate is named by the variable of ' +
        'the certificate, and not of its key.',
    ),
    rates: section(
      'Rate windows',
      'The label `account` is the one exception from closed sets: the ids, never the names, here of at most 20 accounts. `MUSTER_METRICS_ACCOUNTS=off` removes both series.',
    ),
    quotas: section(
      'Quotas of accounts',
      'The label `account` has the ids of the three accounts that grow fastest, and of the three whose quotas end first. `MUSTER_METRICS_ACCOUNTS=off` removes both series.',
    ),
    fleet: section('Fleet'),
    delivery: section(
      'Delivery',
      'The label `account` has the ids of at most 20 accounts for each state, and of at most 20 whose rollout fails. `MUSTER_METRICS_ACCOUNTS=off` removes both series.',
    ),
    opamp: section('OpAMP'),
    store: section('Store and memory'),
    controller: section('Controller'),
    metering: section('Metering'),
    keys: section('Keys'),
    keeping: section('Backups, exports and purges'),
    kubernetes: section(
      'Kubernetes',
      'Only a process with the role `kubernetes` has them, and only the leader the gauges.',
    ),
  };
}
