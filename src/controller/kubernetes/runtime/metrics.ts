/* The metrics of an informer's lists and watches: the verbs that it calls, and the closed set of their label. */

/** Why a list or a watch failed; `unreadable` where the answer was no object of the resource. */
export const INFORMER_FAILURES = [
  'conflict',
  'exists',
  'gone',
  'expired',
  'throttled',
  'refused',
  'unavailable',
  'unreadable',
] as const;
type InformerFailure = (typeof INFORMER_FAILURES)[number];

export interface InformerMetrics {
  /** @param resource its plural, as in the path of the API server */
  informerListed(resource: string): void;
  informerFailed(resource: string, reason: InformerFailure): void;
}

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
