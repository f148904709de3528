/* The metrics of the store's calls: the verb that `instrumented.ts` calls, and the closed sets of its labels. */

/** The calls of the port that are timed, by the names of its verbs. */
export const STORE_OPERATIONS = ['get', 'list', 'listAt', 'commit', 'head', 'headAt', 'compact', 'hold'] as const;
export type StoreOperation = (typeof STORE_OPERATIONS)[number];

/** How a call ends: with a value, with an answer of the port that is a word, with a StoreUnavailable, or with Busy. */
export const STORE_RESULTS = [
  'ok',
  'committed',
  'conflict',
  'taken',
  'compacted',
  'future',
  'timeout',
  'unreachable',
  'full',
  'refused',
  'replaced',
  'readonly',
  'corrupt',
  'closed',
  'failed',
  'busy',
] as const;
export type StoreResult = (typeof STORE_RESULTS)[number];

/** The verb by which every call of the store is counted and timed. */
export interface StoreCallMetrics {
  /** @param seconds from the call to its end */
  storeCallEnded(operation: StoreOperation, result: StoreResult, seconds: number): void;
}
