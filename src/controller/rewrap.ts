import type { Fleet } from '../domain/fleet/fleet.ts';
import { createRewrapping } from '../domain/key-rotation/rewrap.ts';
import type { Envelope } from '../domain/keys/envelope.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/port.ts';
import type { Clock } from '../time/clock.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';
import type { RewrapMetrics } from './metrics.ts';

export interface RewrapDeps {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly envelope: Envelope;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: RewrapMetrics;
}

const LOOK_EVERY_MS = 2000;

/** O10: after a rotation nothing stays sealed under the old key. */
export function rewrapReconciler({ metrics, ...deps }: RewrapDeps, { fence }: Term): Reconciler {
  return {
    name: 'rewrap',
    everyMs: LOOK_EVERY_MS,
    reconcile: createRewrapping({ ...deps, rewrapped: (count) => metrics.rewrapped(count) }, fence),
  };
}
