import type { Sections } from '../../../metrics/instruments/sections.ts';

const KUBE_METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const;
export type KubeMethod = (typeof KUBE_METHODS)[number];
/** The status of the API server's answer; `none` where there was none. */
const KUBE_ANSWERS = ['2xx', '3xx', '4xx', '404', '409', '410', '429', '5xx', 'none'] as const;

/** The verb by which requests to the API server are counted. */
export function kubeClientMetrics({ kubernetes }: Sections) {
  const requests = kubernetes.labelledCounter({
    name: 'muster_kubernetes_requests_total',
    help: 'Requests to the Kubernetes API server, by method and answer.',
    labels: { method: KUBE_METHODS, answer: KUBE_ANSWERS },
    unit: 'requests',
  });
  return {
    /** @param status of the answer; 0 where there was none */
    kubernetesAnswered: (method: KubeMethod, status: number): void =>
      requests.inc({ method, answer: answerOf(status) }),
  };
}
export type KubeClientMetrics = ReturnType<typeof kubeClientMetrics>;

function answerOf(status: number): (typeof KUBE_ANSWERS)[number] {
  if (status === 0) return 'none';
  if (status === 404 || status === 409 || status === 410 || status === 429) return `${status}`;
  if (status < 300) return '2xx';
  if (status < 400) return '3xx';
  return status < 500 ? '4xx' : '5xx';
}
