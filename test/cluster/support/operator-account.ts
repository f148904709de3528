import { resolve } from 'node:path';
import type { ApiAccess } from './api-access.ts';

const CHART = resolve(import.meta.dirname, '../../../charts/muster');

/**
 * A service account `muster` in the namespace with the rights that the chart gives to its operator.
 * @param sets values of the chart, as `--set` takes them
 */
export async function operatorAccount(
  plane: ApiAccess,
  namespace: string,
  sets: readonly string[],
): Promise<{ readonly kubeconfig: string; readonly release: string }> {
  await plane.kubectl(['create', 'serviceaccount', 'muster', `--namespace=${namespace}`]);
  const values = ['serviceAccount.create=false', 'serviceAccount.name=muster', 'fullnameOverride=muster', ...sets];
  const options = [`--namespace=${namespace}`, '--kube-version=1.36.3', '--show-only=templates/rbac.yaml'];
  const rbac = await plane.helm(3, ['template', 'muster', CHART, ...options, ...values.map((set) => `--set=${set}`)]);
  await plane.kubectl(['apply', '--filename=-'], rbac);
  return { kubeconfig: await plane.serviceAccount(namespace, 'muster'), release: `${namespace}/muster` };
}
