import type { Log } from '../../log.ts';
import type { Clock } from '../../time/clock.ts';
import type { Store } from '../port.ts';
import { digestOf, storedDigest } from './digest.ts';
import type { Filler } from './filler.ts';
import type { ConsistencyVerdict } from './metrics.ts';
import type { WatchCacheSink } from './sink.ts';

export interface ConsistencyCheckOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly sink: WatchCacheSink;
  readonly log: Log;
  /** The key ranges that are compared one by one. */
  readonly groups: readonly string[];
}

/**
 * Compares memory with the store, group by group, each at the revision that memory has reached. Memory that differs is
 * dropped and listed anew, with a line of the log.
 * @returns `unknown` where the history went away meanwhile, the signal has aborted, or the watch cache is being filled
 *   or holds entries that were listed at a revision which the watch has not reached yet
 * @throws StoreUnavailable when the store does not answer
 */
export async function checkConsistency(
  filler: Filler,
  options: ConsistencyCheckOptions,
  stop: AbortSignal,
): Promise<ConsistencyVerdict> {
  const { sink, log, groups } = options;
  for (const group of groups) {
    if (!filler.filled || filler.applied < filler.listed) return 'unknown';
    const { applied: revision, generation } = filler;
    const inMemory = digestOf(sink.held(group));
    const stored = await storedDigest(options, group, revision, stop);
    if (typeof stored === 'string' || generation !== filler.generation) return 'unknown';
    if (stored.sum !== inMemory.sum || stored.count !== inMemory.count) {
      log.error({ group, revision, inMemory, stored }, 'the watch cache differs from the store');
      filler.drop('it differs from the store');
      return 'different';
    }
  }
  return 'equal';
}
