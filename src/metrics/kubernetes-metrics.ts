import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { OperatorGauges, OperatorMetrics } from '../controller/kubernetes/metrics.ts';
import { callbackGauge, counterOf } from './instruments.ts';
import { KUBE_RESOURCES, type KubeAnswerLabel } from './labels.ts';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function createKubernetesMetrics(registry: Registry): OperatorMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'muster_kubernetes_requests_total',
    help: 'Requests to the Kubernetes API server, by method and answer.',
    labelNames: ['method', 'answer'],
    registers,
  });
  const listed = counterOf(registers, {
    name: 'muster_kubernetes_lists_total',
    help: 'Full listings of a resource, which follow a start, a watch that lost its place, and ten minutes.',
    label: 'resource',
    values: KUBE_RESOURCES,
  });
  const failures = new Counter({
    name: 'muster_kubernetes_informer_failures_total',
    help: 'Lists and watches that failed and were tried again, by reason.',
    labelNames: ['resource', 'reason'],
    registers,
  });
  const reconciles = new Histogram({
    name: 'muster_kubernetes_reconcile_duration_seconds',
    help: 'Looks at custom resources, by how they ended, with their duration.',
    labelNames: ['kind', 'outcome'],
    buckets: SECONDS,
    registers,
  });
  return {
    operatorGauges: operatorGauges(registers),
    kubernetesAnswered: (method, status) => requests.inc({ method, answer: answerOf(status) }),
    informerListed: (resource) => listed(resource as (typeof KUBE_RESOURCES)[number]),
    informerFailed: (resource, reason) => failures.inc({ resource, reason }),
    reconciled: (kind, outcome, seconds) => reconciles.observe({ kind, outcome }, seconds),
  };
}

function answerOf(status: number): KubeAnswerLabel {
  if (status === 0) return 'none';
  if (status === 404 || status === 409 || status === 410 || status === 429) return `${status}`;
  if (status < 300) return '2xx';
  if (status < 400) return '3xx';
  return status < 500 ? '4xx' : '5xx';
}

function operatorGauges(registers: Registry[]): OperatorMetrics['operatorGauges'] {
  let read: OperatorGauges | undefined;
  const age: Gauge<'resource'> = new Gauge({
    name: 'muster_kubernetes_informer_age_seconds',
    help: 'Time since the Kubernetes API server last said anything of a resource; on the leader alone.',
    labelNames: ['resource'],
    registers,
    collect() {
      age.reset();
      for (const [resource, seconds] of read?.informerAges() ?? []) age.set({ resource }, seconds);
    },
  });
  const resources: Gauge<'kind' | 'ready'> = new Gauge({
    name: 'muster_kubernetes_resources',
    help: 'Custom resources by kind and the status of their condition Ready; on the leader alone.',
    labelNames: ['kind', 'ready'],
    registers,
    collect() {
      resources.reset();
      for (const [kind, ready, count] of read?.resources() ?? []) resources.set({ kind, ready }, count);
    },
  });
  callbackGauge(
    registers,
    'muster_kubernetes_queued',
    'Custom resources that are being looked at, or wait to be; on the leader alone.',
    () => read?.queued() ?? 0,
  );
  return (gauges) => {
    read = gauges;
  };
}
