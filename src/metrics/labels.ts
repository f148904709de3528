/*
 * The closed sets of labels whose values the metrics make themselves, from a flag, a name in the configuration or a
 * number. The other sets belong to the rooms that count with them. No content of a request becomes a label.
 */

export const LISTENERS = ['api', 'device', 'ops', 'panel'] as const;
export type ListenerLabel = (typeof LISTENERS)[number];

/** Any other method is `other`. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'] as const;
const NAMED_METHODS: ReadonlySet<string> = new Set(METHODS);
export const methodLabel = (method: string): string => (NAMED_METHODS.has(method) ? method : 'other');

export const ROLE_LABELS = ['api', 'device', 'controller', 'kubernetes'] as const;

export const NIGHT_LATE = ['true', 'false'] as const;

/** The status of the API server's answer; `none` where there was none. */
export const KUBE_ANSWERS = ['2xx', '3xx', '4xx', '404', '409', '410', '429', '5xx', 'none'] as const;
export type KubeAnswerLabel = (typeof KUBE_ANSWERS)[number];
