import { COMPACTION_RESULTS, type PurgeMetrics } from '../controller/metrics.ts';
import { COMMIT_REPEATS, type MutationMetrics } from '../domain/mutation/metrics.ts';
import { STORE_OPERATIONS, STORE_RESULTS, type StoreCallMetrics } from '../store/metrics.ts';
import { CONSISTENCY_VERDICTS, WATCH_ENDS, type WatchCacheMetrics } from '../store/watch-cache/metrics.ts';
import type { ReadGauges } from './callback-gauges.ts';
import { SECONDS, type Section } from './instruments.ts';
import { remembered } from './remembered.ts';

/** The verbs of the store and of the watch cache. */
export interface StoreMetrics
  extends
    WatchCacheMetrics,
    StoreCallMetrics,
    Pick<MutationMetrics, 'commitRepeated'>,
    Pick<PurgeMetrics, 'compacted'> {
  recordUnreadable(): void;
}

export function storeMetrics(section: (title: string) => Section, read: ReadGauges): StoreMetrics {
  const store = section('Store and memory');
  const calls = store.histogram({
    name: 'muster_store_operation_duration_seconds',
    help: 'Duration of the calls of the store, by operation and result.',
    labels: { operation: STORE_OPERATIONS, result: STORE_RESULTS },
    buckets: SECONDS,
    unit: 'seconds',
  });
  const child = remembered((labels) => calls.labels(...labels));
  store.callbackGauge(
    {
      name: 'muster_store_fullness_ratio',
      help: 'How full the store is, 0 to 1; NaN where that is not known.',
      unit: 'ratio',
    },
    () => read()?.storeFullness() ?? Number.NaN,
  );
  return {
    storeCallEnded: (operation, result, seconds) => child(operation, result).observe(seconds),
    commitRepeated: store.counterOf({
      name: 'muster_commits_repeated_total',
      help: 'Commits sent again after a conflict or a lost answer.',
      labels: { why: COMMIT_REPEATS },
      unit: 'commits',
    }),
    recordUnreadable: store.counter({
      name: 'muster_records_unreadable_total',
      help: 'Records whose stored text does not have the expected shape.',
      unit: 'records',
    }),
    compacted: store.counterOf({
      name: 'muster_compactions_total',
      help: 'Compactions of the history, by result.',
      labels: { result: COMPACTION_RESULTS },
      unit: 'compactions',
    }),
    ...watchCacheMetrics(store, read),
  };
}

function watchCacheMetrics(store: Section, read: ReadGauges): WatchCacheMetrics {
  store.callbackGauge(
    {
      name: 'muster_watch_cache_ready',
      help: '1 while the memory is filled and the store answers.',
      unit: '0 or 1',
    },
    () => (read()?.cacheReady() ? 1 : 0),
  );
  store.callbackGauge(
    {
      name: 'muster_watch_cache_lag_revisions',
      help: 'Store revisions that the memory was behind at the last read.',
      unit: 'revisions',
    },
    () => read()?.storeRevisionLag() ?? 0,
  );
  return {
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
  };
}
