import { SECONDS } from '../metrics/instruments/label-values.ts';
import type { Sections } from '../metrics/instruments/sections.ts';

/* The metrics of the store's calls: the verb that `instrumented.ts` calls, and the closed sets of its labels. */

/** The calls of the port that are timed, by the names of its verbs; `rewrite` is that of a held key. */
export const STORE_OPERATIONS = [
  'get',
  'list',
  'listAt',
  'commit',
  'head',
  'headAt',
  'compact',
  'hold',
  'rewrite',
] as const;
export type StoreOperation = (typeof STORE_OPERATIONS)[number];

/** How a call ends: with a value, with an answer of the port that is a word, with a StoreUnavailable, or with Busy. */
export const STORE_RESULTS = [
  'ok',
  'committed',
  'conflict',
  'taken',
  'lost',
  'compacted',
  'future',
  'timeout',
  'unreachable',
  'full',
  'refused',
  'replaced',
  'readonly',
  'corrupt',
  'divided',
  'closed',
  'failed',
  'busy',
] as const;
export type StoreResult = (typeof STORE_RESULTS)[number];

/** The verb by which every call of the store is counted and timed, and how full the store is. */
export function storeMetrics({ store }: Sections) {
  const calls = store.histogram({
    name: 'muster_store_operation_duration_seconds',
    help: 'Duration of the calls of the store, by operation and result.',
    labels: { operation: STORE_OPERATIONS, result: STORE_RESULTS },
    buckets: SECONDS,
    unit: 'seconds',
  });
  return {
    /** @param seconds from the call to its end */
    storeCallEnded: (operation: StoreOperation, result: StoreResult, seconds: number): void =>
      calls.observe({ operation, result }, seconds),
    storeFullness: store.callbackGauge(
      {
        name: 'muster_store_fullness_ratio',
        help: 'How full the store is, 0 to 1; NaN where that is not known.',
        unit: 'ratio',
      },
      Number.NaN,
    ),
  };
}
export type StoreCallMetrics = Pick<ReturnType<typeof storeMetrics>, 'storeCallEnded'>;
