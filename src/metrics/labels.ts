/*
 * The closed sets of the labels: with them a counter's series are there from the start, and docs/METRICS.md names them
 * all. What a request brings along never becomes a label.
 */

export const LISTENERS = ['api', 'device', 'ops'] as const;
export type ListenerLabel = (typeof LISTENERS)[number];

/** Those that may speak TLS. */
export const TLS_LISTENERS = ['api', 'device'] as const;
export type TlsListenerLabel = (typeof TLS_LISTENERS)[number];

export const REJECTIONS = ['below_routing', 'request_bound', 'connection_bound'] as const;
export type RejectionLabel = (typeof REJECTIONS)[number];

export const ROLE_LABELS = ['api', 'device', 'controller', 'kubernetes'] as const;

export const RATE_DECISIONS = ['admitted', 'limited'] as const;

export const CONSISTENCY_VERDICTS = ['equal', 'different', 'unknown'] as const;
export type ConsistencyVerdict = (typeof CONSISTENCY_VERDICTS)[number];

export const WATCH_ENDS = ['compacted', 'disconnected', 'closed'] as const;
export type WatchEndLabel = (typeof WATCH_ENDS)[number];

export const ENROLLMENT_RESULTS = [
  'enrolled',
  'replayed',
  'unknown_app',
  'unknown_code',
  'used_code',
  'voided_code',
  'expired_code',
  'malformed_code',
  'bound_credential',
  'account_disabled',
] as const;
export type EnrollmentResult = (typeof ENROLLMENT_RESULTS)[number];

export const POLL_RESULTS = [
  'content',
  'not_modified',
  'held_content',
  'held_not_modified',
  'invalid_credential',
  'account_disabled',
  'rate_limited',
  'unavailable',
] as const;
export type PollResult = (typeof POLL_RESULTS)[number];

/** What a change is called, in the audit as well. */
export const MUTATION_ACTIONS = [
  'account.created',
  'account.changed',
  'account.adopted',
  'account.released',
  'key.created',
  'key.revoked',
  'app.created',
  'app.enrolled',
  'enrollment.refused',
  'app.reported',
  'app.revoked',
  'app.deleted',
  'code.issued',
  'code.voided',
  'otel.stored',
  'otel.purged',
  'review.decided',
] as const;
export type MutationAction = (typeof MUTATION_ACTIONS)[number];

export const COMMIT_REPEATS = ['conflict', 'unknown'] as const;
export const HEARTBEAT_RESULTS = ['written', 'conflict', 'failed'] as const;
export const COMPACTION_RESULTS = ['done', 'failed'] as const;

export const TERM_ENDS = ['stopped', 'lost'] as const;
export const CLEANED = [
  'codes',
  'idempotency_records',
  'rate_records',
  'refusal_notes',
  'past_credentials',
  'audit_entries',
] as const;
export const NIGHT_LATE = ['true', 'false'] as const;
export const RATE_ALLOTMENTS = ['taken', 'returned', 'expired'] as const;

export const KUBE_METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const;
export type KubeMethodLabel = (typeof KUBE_METHODS)[number];
/** Of the API server's answer; `none` where there was none. */
export const KUBE_ANSWERS = ['2xx', '3xx', '4xx', '404', '409', '410', '429', '5xx', 'none'] as const;
export type KubeAnswerLabel = (typeof KUBE_ANSWERS)[number];
export const KUBE_RESOURCES = ['fleetaccounts', 'fleetapikeys', 'fleetapps', 'fleetotelconfigs', 'secrets'] as const;
export type KubeResourceLabel = (typeof KUBE_RESOURCES)[number];
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
export type InformerFailureLabel = (typeof INFORMER_FAILURES)[number];
export const KUBE_KINDS = ['FleetAccount', 'FleetApiKey', 'FleetApp', 'FleetOtelConfig'] as const;
export const RECONCILE_OUTCOMES = ['settled', 'conflict', 'failed'] as const;
export type ReconcileOutcomeLabel = (typeof RECONCILE_OUTCOMES)[number];
export const READY_LABELS = ['True', 'False', 'Unknown'] as const;
