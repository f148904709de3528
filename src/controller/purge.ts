import type { CompactionSchedule } from '../domain/history/compaction.ts';
import {
  countCompactedPurges,
  isPurgedBy,
  purgesAwaitingRetirement,
  purgesInHistory,
  sumOf,
  type PurgesInHistory,
} from '../domain/history/purges.ts';
import type { RevisionPins } from '../domain/history/revision-pins.ts';
import type { KeyRing } from '../domain/keys/key-ring.ts';
import type { Store } from '../store/port.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';
import type { PurgeMetrics } from './metrics.ts';

export interface PurgeDeps {
  readonly store: Store;
  readonly keyRing: KeyRing;
  readonly metrics: PurgeMetrics;
  /** Whether the history is Muster's to compact; where not, whoever keeps that etcd compacts it. */
  readonly compacts: boolean;
  /** Made for this term, under its fence. */
  readonly schedule: CompactionSchedule;
  /** Made for this term. */
  readonly pins: RevisionPins;
}

const LOOK_EVERY_MS = 5000;
/** What is purged right after an outage is gone within a minute, too. */
const PAUSE_MAX_MS = 10_000;

/**
 * O10: what was purged leaves the store's history within a minute, or as soon as no reader pins it. On etcd the rest of
 * the history is bounded, too.
 */
export function purgeReconciler(
  { store, keyRing, metrics, compacts, schedule, pins }: PurgeDeps,
  { fence, signal }: Term,
): Reconciler {
  // Who leads no longer hears of a key that is retired.
  signal.addEventListener('abort', () => metrics.purgesAwaitKeyRetirement(0), { once: true });
  return {
    name: 'purge',
    everyMs: LOOK_EVERY_MS,
    pauseMaxMs: PAUSE_MAX_MS,
    async reconcile() {
      const purged = await purgesInHistory(store);
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
    // A purge that a pin holds up: no turn is spent meanwhile, so that it goes as soon as the pin does.
    if (any && !purged) return;
    const turn = await schedule.due(purged, reach);
    if (!turn) return;
    const compactedTo = turn.to === undefined ? undefined : await compact(turn.to);
    // Before the count: one that fails, round after round, must not cost a compaction each time.
    await schedule.done(reach);
    // Less than was asked for while this process reads a snapshot: what was purged since then is still in the history.
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
