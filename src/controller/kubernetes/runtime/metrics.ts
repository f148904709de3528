import type { Sections } from '../../../metrics/instruments/sections.ts';
import { KIND_SCHEMAS } from '../schema/crd.ts';

/* The metrics of an informer's lists and watches: the verbs that it calls, and the closed set of their label. */

/**
 * The cause for which a list or a watch failed: `unreadable` where the answer was no object of the resource,
 * `no_definition` where the cluster has no CustomResourceDefinition of it.
 */
const INFORMER_FAILURES = [
  'conflict',
  'exists',
  'gone',
  'expired',
  'throttled',
  'refused',
  'unavailable',
  'unreadable',
  'no_definition',
] as const;
type InformerFailure = (typeof INFORMER_FAILURES)[number];

/** The resources that the operator lists and watches, in the plural, as in the path of the API server. */
export const RESOURCES = [...KIND_SCHEMAS.map(({ plural }) => plural), 'secrets', 'namespaces', 'leases'];

export function informerMetrics({ kubernetes }: Sections) {
  const failures = kubernetes.labelledCounter({
    name: 'muster_kubernetes_informer_failures_total',
    help: 'Lists and watches that failed and were tried again, by reason.',
    labels: { resource: RESOURCES, reason: INFORMER_FAILURES },
    unit: 'failures',
  });
  return {
    informerListed: kubernetes.counterOf({
      name: 'muster_kubernetes_lists_total',
      help: 'Full listings of a resource: at the start, after a watch that lost its place, and every ten minutes.',
      labels: { resource: RESOURCES },
      unit: 'listings',
    }),
    informerFailed: (resource: string, reason: InformerFailure): void => failures.inc({ resource, reason }),
  };
}
export type InformerMetrics = ReturnType<typeof informerMetrics>;

/**
 * How the operator stands to a namespace that it is to follow: `followed`; `starting`, until the Lease is held;
 * `absent`, named but not there yet; `not_granted`, without its Role or RoleBinding; `held_by_another`, where another
 * release has the Lease; `terminating`, being deleted.
 */
export const NAMESPACE_STANDINGS = [
  'followed',
  'starting',
  'absent',
  'not_granted',
  'held_by_another',
  'terminating',
] as const;
export type NamespaceStanding = (typeof NAMESPACE_STANDINGS)[number];
