import type { Sections } from '../../metrics/instruments/sections.ts';
import type { KubeClientMetrics } from './client/metrics.ts';
import { FAILURE_REASONS, type FailureReason } from './failures/failure.ts';
import { NAMESPACE_STANDINGS, RESOURCES, type InformerMetrics, type NamespaceStanding } from './runtime/metrics.ts';
import { KIND_SCHEMAS } from './schema/crd.ts';

/* The metrics of the operator of custom resources: the verbs that it calls, and the closed set of their label. */

const RECONCILE_OUTCOMES = ['settled', 'conflict', 'failed'] as const;
export type ReconcileOutcome = (typeof RECONCILE_OUTCOMES)[number];

/** The status of the condition Ready. */
const READY_STATUSES = ['True', 'False', 'Unknown'] as const;

const KINDS = KIND_SCHEMAS.map(({ kind }) => kind);
/** Buckets of a reconciliation, which waits for the API server. */
const RECONCILE_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The numbers that the operator's gauges read at each scrape. */
export interface OperatorGauges {
  /** Seconds since the API server was last heard of a resource: those of the namespace that has waited longest. */
  readonly informerAges: () => Iterable<readonly [resource: string, seconds: number]>;
  /** Resources that are being reconciled or wait for it. */
  readonly queued: () => number;
  /** How many namespaces that are to be followed stand in which way. */
  readonly namespaces: () => Iterable<readonly [standing: NamespaceStanding, count: number]>;
  /** How many resources there are, by kind and the status of their condition Ready. */
  readonly resources: () => Iterable<readonly [kind: string, ready: string, count: number]>;
  /** The number of those that are held back, since others change again and again what they describe, by kind. */
  readonly contended: () => Iterable<readonly [kind: string, count: number]>;
}

/** The verbs of the operator of custom resources. */
export function operatorMetrics({ kubernetes }: Sections) {
  const reconciliations = kubernetes.histogram({
    name: 'muster_kubernetes_reconcile_duration_seconds',
    help: 'Duration of the reconciliations of custom resources, by kind and outcome.',
    labels: { kind: KINDS, outcome: RECONCILE_OUTCOMES },
    buckets: RECONCILE_SECONDS,
    unit: 'seconds',
  });
  const failedAttempts = kubernetes.labelledCounter({
    name: 'muster_kubernetes_reconcile_failures_total',
    help: 'Reconciliations that failed and were tried again, by kind and reason; `WriteConflict` is an ordinary event.',
    labels: { kind: KINDS, reason: FAILURE_REASONS },
    unit: 'failures',
  });
  const forgotten = kubernetes.labelledCounter({
    name: 'muster_kubernetes_bindings_forgotten_total',
    help: 'Bindings that were removed because their custom resource is gone without its clean-up, by kind.',
    labels: { kind: KINDS },
    unit: 'bindings',
  });
  return {
    /** @param seconds that the reconciliation took */
    reconciled: (kind: string, outcome: ReconcileOutcome, seconds: number): void =>
      reconciliations.observe({ kind, outcome }, seconds),
    /** An attempt failed, and is made again. */
    reconcileFailed: (kind: string, reason: FailureReason): void => failedAttempts.inc({ kind, reason }),
    /** A binding was removed whose resource is gone. */
    bindingForgotten(kind: string): void {
      // A later version may have left a binding of a kind that this one does not know.
      if (KINDS.some((known) => known === kind)) forgotten.inc({ kind });
    },
    operatorGauges: operatorGauges(kubernetes),
  };
}
export type OperatorMetrics = ReturnType<typeof operatorMetrics> & InformerMetrics & KubeClientMetrics;

/** @returns is told where to read; undefined while this replica does not run the operator */
function operatorGauges(kubernetes: Sections['kubernetes']): (read: OperatorGauges | undefined) => void {
  let read: OperatorGauges | undefined;
  kubernetes.seriesCallbackGauge({
    name: 'muster_kubernetes_informer_age_seconds',
    help: 'Time since the Kubernetes API server was last heard of a resource; on the leader alone.',
    labels: { resource: RESOURCES },
    unit: 'seconds',
  })(() => [...(read?.informerAges() ?? [])].map(([resource, seconds]) => [{ resource }, seconds] as const));
  kubernetes.seriesCallbackGauge({
    name: 'muster_kubernetes_resources',
    help: 'Custom resources, by kind and the status of their condition Ready; on the leader alone.',
    labels: { kind: KINDS, ready: READY_STATUSES },
    unit: 'resources',
  })(() => [...(read?.resources() ?? [])].map(([kind, ready, count]) => [{ kind, ready }, count] as const));
  kubernetes.seriesCallbackGauge({
    name: 'muster_kubernetes_namespaces',
    help:
      'Namespaces that are to be followed, by how the operator stands to them: without its RoleBinding `not_granted`, ' +
      'where another release has the Lease `held_by_another`, named and not there yet `absent`; on the leader alone.',
    labels: { standing: NAMESPACE_STANDINGS },
    unit: 'namespaces',
  })(() => [...(read?.namespaces() ?? [])].map(([standing, count]) => [{ standing }, count] as const));
  kubernetes.seriesCallbackGauge({
    name: 'muster_kubernetes_write_conflicts',
    help:
      'Custom resources with the reason WriteConflict, by kind: others change again and again what Muster writes; on ' +
      'the leader alone.',
    labels: { kind: KINDS },
    unit: 'resources',
  })(() => [...(read?.contended() ?? [])].map(([kind, count]) => [{ kind }, count] as const));
  kubernetes.seriesCallbackGauge({
    name: 'muster_kubernetes_queued',
    help: 'Custom resources that are being reconciled or wait for it; on the leader alone.',
    unit: 'resources',
  })(() => (read ? [[{}, read.queued()]] : []));
  return (gauges) => void (read = gauges);
}
