import { KUBE_METHODS } from '../controller/kubernetes/client/metrics.ts';
import { FAILURE_REASONS } from '../controller/kubernetes/failures/failure.ts';
import {
  READY_STATUSES,
  RECONCILE_OUTCOMES,
  type OperatorGauges,
  type OperatorMetrics,
} from '../controller/kubernetes/metrics.ts';
import { INFORMER_FAILURES, NAMESPACE_STANDINGS } from '../controller/kubernetes/runtime/metrics.ts';
import { KIND_SCHEMAS } from '../controller/kubernetes/schema/crd.ts';
import type { Section } from './instruments.ts';
import { KUBE_ANSWERS, type KubeAnswerLabel } from './labels.ts';

export type { OperatorMetrics } from '../controller/kubernetes/metrics.ts';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const KINDS = KIND_SCHEMAS.map(({ kind }) => kind);
/** The resources that the operator lists and watches, in the plural. */
const RESOURCES = [...KIND_SCHEMAS.map(({ plural }) => plural), 'secrets', 'namespaces', 'leases'];

export function kubernetesMetrics(section: (title: string, note: string) => Section): OperatorMetrics {
  const kubernetes = section(
    'Kubernetes',
    'Only a process with the role `kubernetes` has them, and only the leader the gauges.',
  );
  const requests = kubernetes.labelledCounter({
    name: 'muster_kubernetes_requests_total',
    help: 'Requests to the Kubernetes API server, by method and answer.',
    labels: { method: KUBE_METHODS, answer: KUBE_ANSWERS },
    unit: 'requests',
  });
  const failures = kubernetes.labelledCounter({
    name: 'muster_kubernetes_informer_failures_total',
    help: 'Lists and watches that failed and were tried again, by reason.',
    labels: { resource: RESOURCES, reason: INFORMER_FAILURES },
    unit: 'failures',
  });
  const reconciliations = kubernetes.histogram({
    name: 'muster_kubernetes_reconcile_duration_seconds',
    help: 'Duration of the reconciliations of custom resources, by kind and outcome.',
    labels: { kind: KINDS, outcome: RECONCILE_OUTCOMES },
    buckets: SECONDS,
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
    operatorGauges: operatorGauges(kubernetes),
    kubernetesAnswered: (method, status) => requests.inc({ method, answer: answerOf(status) }),
    informerListed: kubernetes.counterOf({
      name: 'muster_kubernetes_lists_total',
      help: 'Full listings of a resource: at the start, after a watch that lost its place, and every ten minutes.',
      labels: { resource: RESOURCES },
      unit: 'listings',
    }),
    informerFailed: (resource, reason) => failures.inc({ resource, reason }),
    reconcileFailed: (kind, reason) => failedAttempts.inc({ kind, reason }),
    bindingForgotten(kind) {
      // A later version may have left a binding of a kind that this one does not know.
      if (KINDS.some((known) => known === kind)) forgotten.inc({ kind });
    },
    reconciled: (kind, outcome, seconds) => reconciliations.observe({ kind, outcome }, seconds),
  };
}

function answerOf(status: number): KubeAnswerLabel {
  if (status === 0) return 'none';
  if (status === 404 || status === 409 || status === 410 || status === 429) return `${status}`;
  if (status < 300) return '2xx';
  if (status < 400) return '3xx';
  return status < 500 ? '4xx' : '5xx';
}

function operatorGauges(kubernetes: Section): OperatorMetrics['operatorGauges'] {
  let read: OperatorGauges | undefined;
  kubernetes.labelledCallbackGauge(
    {
      name: 'muster_kubernetes_informer_age_seconds',
      help: 'Time since the Kubernetes API server was last heard of a resource; on the leader alone.',
      labels: { resource: RESOURCES },
      unit: 'seconds',
    },
    () => [...(read?.informerAges() ?? [])].map(([resource, seconds]) => [{ resource }, seconds] as const),
  );
  kubernetes.labelledCallbackGauge(
    {
      name: 'muster_kubernetes_resources',
      help: 'Custom resources, by kind and the status of their condition Ready; on the leader alone.',
      labels: { kind: KINDS, ready: READY_STATUSES },
      unit: 'resources',
    },
    () => [...(read?.resources() ?? [])].map(([kind, ready, count]) => [{ kind, ready }, count] as const),
  );
  kubernetes.labelledCallbackGauge(
    {
      name: 'muster_kubernetes_namespaces',
      help:
        'Namespaces that are to be followed, by how the operator stands to them: without its RoleBinding `not_granted`, ' +
        'where another release has the Lease `held_by_another`, named and not there yet `absent`; on the leader alone.',
      labels: { standing: NAMESPACE_STANDINGS },
      unit: 'namespaces',
    },
    () => [...(read?.namespaces() ?? [])].map(([standing, count]) => [{ standing }, count] as const),
  );
  kubernetes.callbackGauge(
    {
      name: 'muster_kubernetes_queued',
      help: 'Custom resources that are being reconciled or wait for it; on the leader alone.',
      unit: 'resources',
    },
    () => read?.queued() ?? 0,
  );
  return (gauges) => {
    read = gauges;
  };
}
