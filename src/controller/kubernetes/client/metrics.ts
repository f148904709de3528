/* The metrics of the requests to the API server: the verb that it calls, and the closed set of its label. */

export const KUBE_METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const;
export type KubeMethod = (typeof KUBE_METHODS)[number];

export interface KubeClientMetrics {
  /** @param status of the answer; 0 where there was none */
  kubernetesAnswered(method: KubeMethod, status: number): void;
}
