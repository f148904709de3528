import { Histogram, type Registry } from 'prom-client';
import { COMPACTION_RESULTS, type LoopMetrics, type PurgeMetrics } from '../controller/metrics.ts';
import { COMMIT_REPEATS, type MutationMetrics } from '../domain/mutation/metrics.ts';
import type { StoreCallMetrics } from '../store/metrics.ts';
import { CONSISTENCY_VERDICTS, WATCH_ENDS, type WatchCacheMetrics } from '../store/watch-cache/metrics.ts';
import { counterOf, plainCounter, plainGauge, remembered, SECONDS } from './instruments.ts';

/** The verbs of the store, of the memory of it, and of the loops that work on it. */
export interface StoreMetrics
  extends
    WatchCacheMetrics,
    StoreCallMetrics,
    LoopMetrics,
    Pick<MutationMetrics, 'commitRepeated'>,
    Pick<PurgeMetrics, 'compacted'> {
  recordUnreadable(): void;
}

export function storeMetrics(registers: Registry[]): StoreMetrics {
  const calls = new Histogram({
    name: 'muster_store_operation_duration_seconds',
    help: 'Operations of the store by result (ok, conflict, compacted or the trouble), with their duration.',
    labelNames: ['operation', 'result'],
    buckets: SECONDS,
    registers,
  });
  const child = remembered((labels) => calls.labels(...labels));
  const loops = new Histogram({
    name: 'muster_loop_duration_seconds',
    help: 'Rounds of the background loops by result, with their duration.',
    labelNames: ['loop', 'result'],
    buckets: SECONDS,
    registers,
  });
  return {
    ...watchCacheMetrics(registers),
    storeCallEnded: (operation, result, seconds) => child(operation, result).observe(seconds),
    loopEnded: (loop, result, seconds) => loops.labels(loop, result).observe(seconds),
    commitRepeated: counterOf(registers, {
      name: 'muster_commits_repeated_total',
      help: 'Commits sent again after a conflict or a lost answer.',
      label: 'why',
      values: COMMIT_REPEATS,
    }),
    recordUnreadable: plainCounter(
      registers,
      'muster_records_unreadable_total',
      'Records whose stored text has not the expected shape.',
    ),
    compacted: counterOf(registers, {
      name: 'muster_compactions_total',
      help: 'Compactions of the history by result.',
      label: 'result',
      values: COMPACTION_RESULTS,
    }),
  };
}

function watchCacheMetrics(registers: Registry[]): WatchCacheMetrics {
  const plain = (name: string, help: string): (() => void) => plainCounter(registers, name, help);
  return {
    cacheBehind: plain('muster_watch_cache_behind_total', 'Reads that found memory behind the store and went there.'),
    cacheRelisted: plain('muster_watch_cache_relists_total', 'Times that memory was dropped and listed anew.'),
    cacheWatchEnded: counterOf(registers, {
      name: 'muster_watch_cache_watch_ends_total',
      help: 'Ends of the watch that feeds memory, by reason.',
      label: 'reason',
      values: WATCH_ENDS,
    }),
    cacheChecked: counterOf(registers, {
      name: 'muster_watch_cache_consistency_checks_total',
      help: 'Comparisons of memory with the store, by verdict.',
      label: 'verdict',
      values: CONSISTENCY_VERDICTS,
    }),
    cacheApplied: plainGauge(
      registers,
      'muster_watch_cache_applied_revision',
      'The store revision that memory has reached.',
    ),
  };
}
