import type { CompactionTurns } from '../domain/history/compaction.ts';
import {
  countForgotten,
  isPurgedBy,
  purgedYetToForget,
  purgesAwaitingRetirement,
  sumOf,
  type Purged,
} from '../domain/history/purges.ts';
import type { PinWatch } from '../domain/history/revision-pins.ts';
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
  readonly turns: CompactionTurns;
  /** Made for this term. */
  readonly pins: PinWatch;
}

const LOOK_EVERY_MS = 5000;
/** What is purged right after an outage is gone within a minute, too. */
const PAUSE_MAX_MS = 10_000;

/**
 * O10: what was purged leaves the store's history within a minute, or as soon as no reader pins it. On etcd the rest of
 * the history is bounded, too.
 */
export function purgeReconciler(
  { store, keyRing, metrics, compacts, turns, pins }: PurgeDeps,
  { fence, signal }: Term,
): Reconciler {
  // Who leads no longer hears of a key that is retired.
  signal.addEventListener('abort', () => metrics.purgesAwaitKeyRetirement(0), { once: true });
  return {
    name: 'purge',
    everyMs: LOOK_EVERY_MS,
    pauseMaxMs: PAUSE_MAX_MS,
    async reconcile() {
      const purged = await purgedYetToForget(store);
      if (compacts) await takeTurn(purged);
      else if (purged.any) await countForgotten(store, purged.revision, fence);
      const waiting = sumOf(await purgesAwaitingRetirement(store, keyRing));
      if (!signal.aborted) metrics.purgesAwaitKeyRetirement(waiting);
    },
  };

  /** The pins are listed after the revision was read: domain/history/revision-pins.ts says why none is overrun then. */
  async function takeTurn({ any, revision }: Purged): Promise<void> {
    const reach = Math.min(revision, (await pins.lowest()) ?? revision);
    const purged = any && (reach === revision || (await isPurgedBy(store, reach)));
    // A purge that a pin holds up: no turn is spent meanwhile, so that it goes as soon as the pin does.
    if (any && !purged) return;
    const turn = await turns.due(purged, reach);
    if (!turn) return;
    const compactedTo = turn.to === undefined ? undefined : await compact(turn.to);
    // Before the count: one that fails, round after round, must not cost a compaction each time.
    await turns.done(reach);
    // Less than was asked for while this process reads a snapshot: what was purged since then is still in the history.
    if (purged && compactedTo !== undefined) await countForgotten(store, compactedTo, fence);
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
