import type { Sections } from '../../metrics/instruments/sections.ts';

/* The metrics of the watch cache: the verbs that it calls, and the closed sets of their labels. */

/** How the comparison of a key range in memory with the store ends; `unknown` where the store could not be compared. */
const CONSISTENCY_VERDICTS = ['equal', 'different', 'unknown'] as const;
export type ConsistencyVerdict = (typeof CONSISTENCY_VERDICTS)[number];

/** How the watch that feeds memory ends. */
const WATCH_ENDS = ['compacted', 'disconnected', 'closed'] as const;

export const watchCacheMetrics = ({ store }: Sections) => ({
  cacheReady: store.callbackGauge({
    name: 'muster_watch_cache_ready',
    help: '1 while the memory is filled and the store answers.',
    unit: '0 or 1',
  }),
  cacheLag: store.callbackGauge({
    name: 'muster_watch_cache_lag_revisions',
    help: 'Store revisions that the memory was behind at the last read.',
    unit: 'revisions',
  }),
  cacheApplied: store.gauge({
    name: 'muster_watch_cache_applied_revision',
    help: 'The store revision that the memory has reached.',
    unit: 'revision',
  }),
  cacheBehind: store.counter({
    name: 'muster_watch_cache_behind_total',
    help: 'Reads that found the memory behind the store and read the store itself.',
    unit: 'reads',
  }),
  cacheRelisted: store.counter({
    name: 'muster_watch_cache_relists_total',
    help: 'Times that the memory was cleared and the store listed anew.',
    unit: 'listings',
  }),
  cacheWatchEnded: store.counterOf({
    name: 'muster_watch_cache_watch_ends_total',
    help: 'Ends of the watch that feeds the memory, by reason.',
    labels: { reason: WATCH_ENDS },
    unit: 'watches',
  }),
  cacheChecked: store.counterOf({
    name: 'muster_watch_cache_consistency_checks_total',
    help: 'Comparisons of the memory with the store, by verdict.',
    labels: { verdict: CONSISTENCY_VERDICTS },
    unit: 'checks',
  }),
});
/** The verbs by which the watch cache reports its state; the others are told where to read it. */
export type WatchCacheMetrics = Omit<ReturnType<typeof watchCacheMetrics>, 'cacheReady' | 'cacheLag'>;
