import type { Clock } from '../clock.ts';
import type { KeyRing } from '../domain/key-ring.ts';
import { forgetPurged, purgesAwaitingRetirement } from '../domain/purges.ts';
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
/** Compaction meets every user of an etcd and every listing under way: not more often than this, and within a minute. */
const COMPACT_EVERY_MS = 50_000;

/** O10: what was purged leaves the store's history within a minute. */
export function purgeReconciler({ store, keyRing, clock, metrics, compacts }: PurgeDeps): Reconciler {
  let compactedAt = Number.NEGATIVE_INFINITY;
  return {
    name: 'purge',
    everyMs: LOOK_EVERY_MS,
    async reconcile() {
      if (clock.monotonic() - compactedAt >= COMPACT_EVERY_MS && (await forget())) compactedAt = clock.monotonic();
      metrics.purgesAwaitKeyRetirement(await purgesAwaitingRetirement(store, keyRing));
    },
  };

  async function forget(): Promise<boolean> {
    try {
      const done = await forgetPurged(store, compacts);
      if (done && compacts) metrics.compacted('done');
      return done;
    } catch (error) {
      metrics.compacted('failed');
      throw error;
    }
  }
}
