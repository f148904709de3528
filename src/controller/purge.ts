import type { CompactionSchedule } from '../domain/history/compaction.ts';
import {
  countCompactedPurges,
  isPurgedBy,
  oldestPurgeAt,
  purgesAwaitingRetirement,
  purgesInHistory,
  sumOf,
  type PurgesInHistory,
} from '../domain/history/purges.ts';
import type { RevisionPins } from '../domain/history/revision-pins.ts';
import type { KeyRing } from '../domain/keys/key-ring.ts';
import type { Store } from '../store/port.ts';
import type { Clock } from '../time/clock.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';
import type { PurgeMetrics } from './metrics.ts';

export interface PurgeDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly keyRing: KeyRing;
  readonly metrics: PurgeMetrics;
  /** Whether Muster compacts the history; where it does not, the operator of that etcd does. */
  readonly compacts: boolean;
  /** Made for this term, under its fence. */
  readonly schedule: CompactionSchedule;
  /** Made for this term. */
  readonly pins: RevisionPins;
}

const CHECK_EVERY_MS = 5000;
/** A purge right after an outage, too, is out of the history within a minute. */
const PAUSE_MAX_MS = 10_000;

/**
 * O10: compacts the store's history, so that a purged record is out of it within a minute, or as soon as no reader pins
 * it. On etcd the compactions bound the rest of the history, too. A round throws `StoreUnavailable`.
 */
export function purgeReconciler(
  { store, clock, keyRing, metrics, compacts, schedule, pins }: PurgeDeps,
  { fence, signal }: Term,
): Reconciler {
  // A former leader is not told of retired keys, so it shows no number.
  signal.addEventListener('abort', () => metrics.purgesAwaitKeyRetirement(undefined), { once: true });
  let oldest: number | undefined;
  // It is read at each scrape, and grows while a round hangs or fails.
  metrics.oldestPurgeAge(() => (oldest === undefined ? 0 : Math.max(0, clock.now() - oldest) / 1000));
  signal.addEventListener('abort', () => metrics.oldestPurgeAge(undefined), { once: true });
  return {
    name: 'purge',
    everyMs: CHECK_EVERY_MS,
    pauseMaxMs: PAUSE_MAX_MS,
    async reconcile() {
      const purged = await purgesInHistory(store);
      oldest = purged.any ? await oldestPurgeAt(store) : undefined;
      if (compacts) await takeTurn(purged);
      else if (purged.any) await countCompactedPurges(store, purged.revision, fence);
      const waiting = sumOf(await purgesAwaitingRetirement(store, keyRing));
      if (!signal.aborted) metrics.purgesAwaitKeyRetirement(waiting);
    },
  };

  /** The pins are listed after the revision was read: domain/history/revision-pins.ts says why none is overrun then. */
  async function takeTurn({ any, revision }: PurgesInHistory): Promise<void> {
    const reach = Math.min(revision, (await pins.lowest()) ?? revision);
    const purged = any && (reach === revision || (await isPurgedBy(store, reach)));
    // A pin holds the purge up. No turn is spent meanwhile, so that the purge is done as soon as the pin is gone.
    if (any && !purged) return;
    const turn = await schedule.due(purged, reach);
    if (!turn) return;
    const compactedTo = turn.to === undefined ? undefined : await compact(turn.to);
    // The turn ends before the count: a count that fails round after round must not cost a compaction each time.
    await schedule.done(reach);
    // While this process reads a snapshot less is compacted than was asked for: later purges are still in the history.
    if (purged && compactedTo !== undefined) await countCompactedPurges(store, compactedTo, fence);
  }

  async function compact(to: number): Promise<number> {
    try {
      const compactedTo = await store.compact(to);
      metrics.compacted('done');
      return compactedTo;
    } catch (error) {
      metrics.compacted('failed');
      throw error;
    }
  }
}
