import type { Fleet } from '../domain/fleet/fleet.ts';
import { rolloutTotals } from '../domain/otel-config/rollout-totals.ts';
import { staleAfterMs } from '../domain/otel-config/rollout.ts';
import type { Store } from '../store/port.ts';
import type { Clock } from '../time/clock.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';
import type { RolloutMetrics } from './metrics.ts';

interface RolloutDeps {
  readonly store: Store;
  readonly fleet: Pick<Fleet, 'memory'>;
  readonly clock: Clock;
  readonly metrics: RolloutMetrics;
  readonly pollIntervalSeconds: number;
}

const COUNT_EVERY_MS = 60_000;
const CHECK_EVERY_MS = 1000;

/**
 * Counts for the metrics the devices that have their account's configuration, and those that do not. It writes nothing,
 * so it needs no fence; only the leader shows the numbers, so that a sum over replicas is right. A round throws
 * `StoreUnavailable`.
 */
export function rolloutReconciler(
  { store, fleet, clock, metrics, pollIntervalSeconds }: RolloutDeps,
  term: Pick<Term, 'signal'>,
): Reconciler {
  term.signal.addEventListener('abort', () => metrics.rolloutCounted(undefined), { once: true });
  return {
    name: 'rollout',
    everyMs: COUNT_EVERY_MS,
    async reconcile(signal) {
      // A replica may lead before its memory is filled.
      while (!fleet.memory.whole && !signal.aborted) await clock.sleep(CHECK_EVERY_MS, signal);
      const deps = { store, memory: fleet.memory, clock };
      const totals = await rolloutTotals(deps, staleAfterMs(pollIntervalSeconds), signal);
      if (totals && !signal.aborted) metrics.rolloutCounted(totals);
    },
  };
}
