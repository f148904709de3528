import { Histogram, type Registry } from 'prom-client';
import { counterOf, plainCounter, plainGauge, remembered, SECONDS } from './instruments.ts';
import {
  COMMIT_REPEATS,
  COMPACTION_RESULTS,
  DIRECTORY_VERDICTS,
  WATCH_ENDS,
  type DirectoryVerdict,
  type WatchEndLabel,
} from './labels.ts';

export interface DirectoryMetrics {
  directoryApplied(revision: number): void;
  directoryBehind(): void;
  directoryRelisted(): void;
  directoryWatchEnded(reason: WatchEndLabel): void;
  directoryProved(verdict: DirectoryVerdict): void;
}

/** What the store, its history and the memory of it say, and the loops that work on it. */
export interface StoreMetrics extends DirectoryMetrics {
  storeCallEnded(operation: string, result: string, seconds: number): void;
  commitRepeated(why: (typeof COMMIT_REPEATS)[number]): void;
  recordUnreadable(): void;
  compacted(result: (typeof COMPACTION_RESULTS)[number]): void;
  loopEnded(loop: string, result: 'ok' | 'failed', seconds: number): void;
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
    ...directoryMetrics(registers),
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

function directoryMetrics(registers: Registry[]): DirectoryMetrics {
  const plain = (name: string, help: string): (() => void) => plainCounter(registers, name, help);
  return {
    directoryBehind: plain('muster_directory_behind_total', 'Reads that found memory behind the store and went there.'),
    directoryRelisted: plain('muster_directory_relists_total', 'Times that memory was dropped and listed anew.'),
    directoryWatchEnded: counterOf(registers, {
      name: 'muster_directory_watch_ends_total',
      help: 'Ends of the watch that feeds memory, by reason.',
      label: 'reason',
      values: WATCH_ENDS,
    }),
    directoryProved: counterOf(registers, {
      name: 'muster_directory_proofs_total',
      help: 'Comparisons of memory with the store, by verdict.',
      label: 'verdict',
      values: DIRECTORY_VERDICTS,
    }),
    directoryApplied: plainGauge(
      registers,
      'muster_directory_applied_revision',
      'The store revision that memory has reached.',
    ),
  };
}
