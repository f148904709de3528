import type { KubeApi } from '../controller/kubernetes/client/kube-api.ts';
import { operatorHealth, type OperatorDeps } from '../controller/kubernetes/operator.ts';
import { enrollBound } from '../domain/devices/bound-enrollment.ts';
import { jitter } from '../time/jitter.ts';
import { createBindingServices, type Core, type DomainServices } from './domain-services.ts';

/**
 * Makes the dependencies of the operator of custom resources, where this replica has the role. The client of Kubernetes
 * is loaded only then.
 * @param wrap for tests that bring faults to the API server
 * @returns undefined without the role
 * @throws Error in words when there is no usable kubeconfig
 */
export async function openOperator(
  core: Core,
  domain: DomainServices,
  wrap: (api: KubeApi) => KubeApi = (api) => api,
): Promise<OperatorDeps | undefined> {
  const { kubernetes } = core.config;
  if (!kubernetes) return undefined;
  const { connectKubernetes } = await import('../controller/kubernetes/client/http-kube-api.ts');
  const { fleet, random, clockWatch, metrics } = core;
  const { accounts, apiKeys, apps, otelConfigs, rollouts, recoveries } = domain;
  const { bindings, ...bound } = createBindingServices(core, domain);
  const enrollments = { ...domain.mutations, clockWatch, metrics };
  return {
    ...core,
    ...kubernetes,
    opampPath: core.config.opamp.path,
    api: wrap(connectKubernetes({ ...core, kubeconfig: kubernetes.kubeconfig })),
    random: jitter,
    health: operatorHealth(),
    bindings,
    domain: {
      fleet,
      random,
      accounts,
      apiKeys,
      apps,
      otelConfigs,
      rollouts,
      recoveries,
      ...bound,
      enrollBound: (caller, appId, credential) => enrollBound(enrollments, caller, appId, credential),
    },
  };
}
