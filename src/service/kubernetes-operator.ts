import type { KubeApi } from '../controller/kubernetes/client/kube-api.ts';
import { operatorHealth, type OperatorDeps } from '../controller/kubernetes/operator.ts';
import { createBoundAccounts } from '../domain/resource-bindings/bound-accounts.ts';
import { createBoundApps } from '../domain/resource-bindings/bound-apps.ts';
import { createBoundKeys } from '../domain/resource-bindings/bound-keys.ts';
import type { Core } from './core.ts';
import type { Domain } from './domain-services.ts';

/**
 * What the operator of custom resources stands on, where this replica has the role. The client of Kubernetes is loaded
 * only then.
 * @throws Error in words when there is no usable kubeconfig
 */
export async function openOperator(
  core: Core,
  domain: Domain,
  wrap: (api: KubeApi) => KubeApi = (api) => api,
): Promise<OperatorDeps | undefined> {
  const { kubernetes } = core.config;
  if (!kubernetes) return undefined;
  const { connectKubernetes } = await import('../controller/kubernetes/client/http-kube-api.ts');
  const { fleet, random, clockWatch } = core;
  const { mutations, queues, ...services } = domain;
  return {
    ...core,
    ...kubernetes,
    api: wrap(await connectKubernetes({ ...core, kubeconfig: kubernetes.kubeconfig })),
    random: Math.random,
    health: operatorHealth(),
    domain: {
      ...services,
      fleet,
      random,
      boundAccounts: createBoundAccounts({ ...mutations, clockWatch }),
      boundKeys: createBoundKeys(mutations),
      boundApps: createBoundApps({ ...mutations, queues }),
    },
  };
}
