import type { Cluster } from './cluster.ts';

/** Definitions that a production cluster has from other projects. */
const FOREIGN: readonly [kind: string, plural: string, group: string][] = [
  ['PodMonitor', 'podmonitors', 'monitoring.coreos.com'],
  ['ServiceMonitor', 'servicemonitors', 'monitoring.coreos.com'],
  ['PrometheusRule', 'prometheusrules', 'monitoring.coreos.com'],
  ['Certificate', 'certificates', 'cert-manager.io'],
  ['TLSRoute', 'tlsroutes', 'gateway.networking.k8s.io'],
];

/**
 * Makes the kinds known that the examples use besides Kubernetes' own: with any fields, and nobody who acts on them.
 */
export async function makeForeignDefinitions(cluster: Cluster): Promise<void> {
  const items = FOREIGN.map(([kind, plural, group]) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, annotations: APPROVED },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: ANY } }],
    },
  }));
  await cluster.kubectl(['apply', '--filename=-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const names = FOREIGN.map(([, plural, group]) => `crd/${plural}.${group}`);
  await cluster.kubectl(['wait', '--for=condition=Established', ...names, '--timeout=60s']);
}

const ANY = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
/** The API server wants it for a group of Kubernetes' own. */
const APPROVED = { 'api-approved.kubernetes.io': 'unapproved, for tests' };
