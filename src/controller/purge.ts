import type { Clock } from '../clock.ts';
import { createCompactionTurns } from '../domain/compaction.ts';
import type { KeyRing } from '../domain/key-ring.ts';
import { countForgotten, purgedYetToForget, purgesAwaitingRetirement, sumOf } from '../domain/purges.ts';
import type { Metrics } from '../metrics.ts';
import type { Store } from '../store/port.ts';
import type { Reconciler } from './loop.ts';

export interface PurgeDeps {
  readonly store: Store;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'compacted' | 'purgesAwaitKeyRetirement'>;
  /** Whether the history is Muster's to compact; where not, whoever keeps that etcd compacts it. */
  readonly compacts: boolean;
}

const LOOK_EVERY_MS = 5000;

/** O10: what was purged leaves the store's history within a minute. On etcd the rest of the history is bounded, too. */
export function purgeReconciler({ store, keyRing, clock, metrics, compacts }: PurgeDeps): Reconciler {
  const turns = createCompactionTurns(store, clock);
  return {
    name: 'purge',
    everyMs: LOOK_EVERY_MS,
    async reconcile() {
      const { any, revision } = await purgedYetToForget(store);
      if (compacts) await takeTurn(any, revision);
      else if (any) await countForgotten(store, revision);
      metrics.purgesAwaitKeyRetirement(sumOf(await purgesAwaitingRetirement(store, keyRing)));
    },
  };

  async function takeTurn(purged: boolean, revision: number): Promise<void> {
    const to = await turns.claim(purged, revision);
    const compactedTo = to === undefined ? undefined : await compact(to);
    turns.done();
    // Less than was asked for while a snapshot is taken: what was purged since then is still in the history.
    if (purged && compactedTo !== undefined) await countForgotten(store, compactedTo);
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
