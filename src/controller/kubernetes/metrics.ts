import type { KubeClientMetrics } from './client/metrics.ts';
import type { FailureReason } from './failures/failure.ts';
import type { InformerMetrics, NamespaceStanding } from './runtime/metrics.ts';

/* The metrics of the operator of custom resources: the verbs that it calls, and the closed set of their label. */

export const RECONCILE_OUTCOMES = ['settled', 'conflict', 'failed'] as const;
export type ReconcileOutcome = (typeof RECONCILE_OUTCOMES)[number];

/** The status of the condition Ready. */
export const READY_STATUSES = ['True', 'False', 'Unknown'] as const;

/** The verbs of the operator of custom resources. */
export interface OperatorMetrics extends InformerMetrics, KubeClientMetrics {
  /** @param seconds that the reconciliation took */
  reconciled(kind: string, outcome: ReconcileOutcome, seconds: number): void;
  /** An attempt failed, and is made again. */
  reconcileFailed(kind: string, reason: FailureReason): void;
  /** A binding was removed whose resource is gone. */
  bindingForgotten(kind: string): void;
  /** @param read called at each scrape; undefined while this replica does not run the operator */
  operatorGauges(read: OperatorGauges | undefined): void;
}

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
}
