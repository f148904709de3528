import { Registry } from 'prom-client';
import type { AccountQuotaMetrics } from '../controller/metrics.ts';
import type { Gauges } from './callback-gauges.ts';
import { controllerMetrics, type ControllerMetrics } from './controller-metrics.ts';
import type { OpampMetrics } from '../domain/opamp/metrics.ts';
import type { FileMetrics } from '../service/files/watched-file.ts';
import { fleetMetrics, type FleetMetrics } from './fleet-metrics.ts';
import { opampMetrics } from './opamp-metrics.ts';
import { Section } from './instruments.ts';
import { kubernetesMetrics, type OperatorMetrics } from './kubernetes-metrics.ts';
import { fileMetrics, processMetrics, type ProcessMetrics } from './process-metrics.ts';
import { quotaMetrics } from './quota-metrics.ts';
import { rateMetrics, type RateMetrics } from './rate-window-metrics.ts';
import { requestMetrics, type RequestMetrics } from './request-metrics.ts';
import { storeMetrics, type StoreMetrics } from './store-metrics.ts';

/*
 * Metrics are a module of verbs: a room declares the verbs that it calls, and this room implements them. Names, labels
 * and buckets are nobody else's business. Labels come from closed sets (route templates, codes, results); account and
 * app ids go to the log, but for the ids of at most 20 accounts that are limited or near it
 * (docs/adr/0034-limited-accounts.md), and of the 3 that grow
 * fastest and the 3 whose quotas end first (docs/adr/0059-a-quota-for-each-account.md). docs/METRICS.md is made from the definitions here.
 */

/** The verbs of all rooms, and the registry that a scrape reads. */
export interface Metrics
  extends
    ProcessMetrics,
    RequestMetrics,
    FileMetrics,
    RateMetrics,
    AccountQuotaMetrics,
    FleetMetrics,
    OpampMetrics,
    StoreMetrics,
    ControllerMetrics,
    OperatorMetrics {
  readonly registry: Registry;
  /** Every series of the product, in the order of docs/METRICS.md; those of the client library are not among them. */
  readonly sections: readonly Section[];
  /** The gauges that read the service are 0 until they are told where to read. */
  gauges(read: Gauges): void;
}

/** Registers every series of a process, whatever its roles. @param version of this program, for `muster_build_info` */
export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  const sections: Section[] = [];
  let gauges: Gauges | undefined;
  const read = (): Gauges | undefined => gauges;
  function section(title: string, note?: string): Section {
    const opened = new Section(registry, title, note);
    sections.push(opened);
    return opened;
  }
  return {
    registry,
    sections,
    gauges(given) {
      gauges = given;
    },
    ...processMetrics(registry, section, version),
    ...requestMetrics(section, read),
    ...fileMetrics(section),
    ...rateMetrics(section),
    ...quotaMetrics(section),
    ...fleetMetrics(section, read),
    ...opampMetrics(section),
    ...storeMetrics(section, read),
    ...controllerMetrics(section),
    ...kubernetesMetrics(section),
  };
}
