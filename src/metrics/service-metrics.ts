import { Registry } from 'prom-client';
import { pollMetrics } from '../api/device/metrics.ts';
import { exchangeMetrics } from '../api/http/metrics.ts';
import { listenerMetrics } from '../api/listener/metrics.ts';
import { rateDecisionMetrics } from '../api/v1/rate-limit.ts';
import { kubeClientMetrics } from '../controller/kubernetes/client/metrics.ts';
import { operatorMetrics } from '../controller/kubernetes/metrics.ts';
import { informerMetrics } from '../controller/kubernetes/runtime/metrics.ts';
import * as controller from '../controller/metrics.ts';
import { rolloutMetrics } from '../controller/rollout-metrics.ts';
import { auditLogMetrics } from '../domain/audit-log/audit-log.ts';
import { auditedAttemptsMetrics } from '../domain/access-audit/audited-attempts.ts';
import { exportMetrics } from '../domain/access-audit/audited-exports.ts';
import { attemptMetrics } from '../domain/access-audit/failed-attempts.ts';
import { roleRefusalMetrics } from '../domain/access-audit/role-refusals.ts';
import { enrollmentMetrics, heartbeatMetrics, heldPollMetrics, sharingMetrics } from '../domain/devices/metrics.ts';
import { fleetMetrics } from '../domain/fleet/metrics.ts';
import { keyRotationMetrics } from '../domain/key-rotation/key-rotation.ts';
import { mutationMetrics } from '../domain/mutation/metrics.ts';
import { collectorTestMetrics } from '../domain/otel-config/collector-test.ts';
import { opampMetrics } from '../domain/opamp/metrics.ts';
import { rateWindowMetrics } from '../domain/rate-window/shared/metrics.ts';
import { replicaMetrics } from '../domain/replicas/metrics.ts';
import { clockMetrics } from '../domain/status-history/clock-trust.ts';
import { detectionMetrics } from '../domain/review-queue/detections.ts';
import { signInMetrics } from '../domain/sign-ins/metrics.ts';
import { fileMetrics } from '../service/files/metrics.ts';
import { storeMetrics } from '../store/metrics.ts';
import { watchCacheMetrics } from '../store/watch-cache/metrics.ts';
import { openSections } from './instruments/sections.ts';
import { libraryMetrics, processMetrics } from './process-metrics.ts';

/*
 * Metrics are a module of verbs: a room declares the series that it counts, and has verbs for them. Names, labels and
 * buckets are nobody else's business. Labels come from closed sets (route templates, codes, results); account and app
 * ids go to the log, but for the ids of at most 20 accounts that are limited or near it
 * (docs/adr/0034-limited-accounts.md), of the 3 that grow fastest and the 3 whose quotas end first
 * (docs/adr/0059-a-quota-for-each-account.md), and of the 20 that lead each ranking of rollouts
 * (docs/adr/0010-rollout-counts-are-read.md). docs/METRICS.md is made from the definitions.
 */

/** The verbs of all rooms, and the registry that a scrape reads. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Registers every series of a process, whatever its roles. @param version of this program, for `muster_build_info` */
export function createMetrics(version: string) {
  const registry = new Registry();
  libraryMetrics(registry);
  const sections = openSections(registry);
  return {
    registry,
    /** Every series of the product, in the order of docs/METRICS.md; those of the client library are not among them. */
    sections: Object.values(sections),
    ...processMetrics(sections, version),
    ...clockMetrics(sections),
    ...exchangeMetrics(sections),
    ...attemptMetrics(sections),
    ...roleRefusalMetrics(sections),
    ...signInMetrics(sections),
    ...listenerMetrics(sections),
    ...fileMetrics(sections),
    ...rateDecisionMetrics(sections),
    ...controller.rateLimitMetrics(sections),
    ...rateWindowMetrics(sections),
    ...controller.accountQuotaMetrics(sections),
    ...storeMetrics(sections),
    ...fleetMetrics(sections),
    ...heartbeatMetrics(sections),
    ...enrollmentMetrics(sections),
    ...pollMetrics(sections),
    ...heldPollMetrics(sections),
    ...mutationMetrics(sections),
    ...detectionMetrics(sections),
    ...rolloutMetrics(sections),
    ...collectorTestMetrics(sections),
    ...opampMetrics(sections),
    ...sharingMetrics(sections),
    ...controller.loopMetrics(sections),
    ...controller.leaderMetrics(sections),
    ...controller.auditSealMetrics(sections),
    ...controller.sweeperMetrics(sections),
    ...replicaMetrics(sections),
    ...controller.meteringMetrics(sections),
    ...keyRotationMetrics(sections),
    ...controller.rewrapMetrics(sections),
    ...controller.backupAgeMetrics(sections),
    ...controller.purgeMetrics(sections),
    ...exportMetrics(sections),
    ...auditedAttemptsMetrics(sections),
    ...auditLogMetrics(sections),
    ...watchCacheMetrics(sections),
    ...kubeClientMetrics(sections),
    ...informerMetrics(sections),
    ...operatorMetrics(sections),
  };
}
