import type { FleetHistory } from '../domain/fleet-history/fleet-history.ts';
import type { Fleet } from '../domain/fleet/fleet.ts';
import type { AccountRollouts } from '../domain/rollouts/account-rollouts.ts';
import { rolloutTotals, type AccountFleet, type RolloutTotals } from '../domain/rollouts/rollout-totals.ts';
import { staleAfterMs } from '../domain/rollouts/rollout.ts';
import type { Store } from '../store/port.ts';
import type { Clock } from '../time/clock.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';
import type { RolloutMetrics } from './rollout-metrics.ts';

interface RolloutDeps {
  readonly store: Store;
  readonly fleet: Pick<Fleet, 'memory'>;
  readonly clock: Clock;
  readonly metrics: RolloutMetrics;
  readonly accountRollouts: Pick<AccountRollouts, 'counted'>;
  readonly fleetHistory: Pick<FleetHistory, 'due' | 'counted'>;
  readonly pollIntervalSeconds: number;
  /** Whether account ids may become labels (`MUSTER_METRICS_ACCOUNTS`). */
  readonly metricsAccounts: boolean;
}

const COUNT_EVERY_MS = 60_000;
const CHECK_EVERY_MS = 1000;
const WRITE_EVERY_MS = 5000;

/**
 * Counts the devices that have their account's configuration, and those that do not: for the metrics, and for all
 * replicas the accounts that stand out. Once an hour the round counts the fleets of all accounts as well, for the loop
 * below to write them. This one writes nothing but this replica's announcement, so it needs no fence; only the leader
 * shows the numbers, so that a sum over replicas is right. A round throws `StoreUnavailable`.
 */
export function rolloutReconciler(
  { store, fleet, clock, metrics, accountRollouts, fleetHistory, pollIntervalSeconds, metricsAccounts }: RolloutDeps,
  term: Pick<Term, 'signal'>,
): Reconciler {
  const show = (totals: RolloutTotals | undefined): void => {
    metrics.rolloutCounted(totals, metricsAccounts ? (totals?.accounts ?? []) : []);
    accountRollouts.counted(totals);
  };
  term.signal.addEventListener('abort', () => show(undefined), { once: true });
  return {
    name: 'rollout',
    everyMs: COUNT_EVERY_MS,
    async reconcile(signal) {
      // A replica may lead before its memory is filled.
      while (!fleet.memory.whole && !signal.aborted) await clock.sleep(CHECK_EVERY_MS, signal);
      const deps = { store, memory: fleet.memory, clock };
      const hour = fleetHistory.due();
      const fleets: AccountFleet[] = [];
      const onFleet = hour === undefined ? undefined : (one: AccountFleet): void => void fleets.push(one);
      const totals = await rolloutTotals(deps, staleAfterMs(pollIntervalSeconds), signal, onFleet);
      if (!totals || signal.aborted) return;
      show(totals);
      if (hour !== undefined) fleetHistory.counted(hour, fleets);
    },
  };
}

/** Writes the fleets that were counted, once an hour. A round throws `StoreUnavailable`. */
export function fleetHistoryReconciler({ fleetHistory }: { readonly fleetHistory: FleetHistory }): Reconciler {
  return {
    name: 'fleet-history',
    everyMs: WRITE_EVERY_MS,
    reconcile: async (signal) => await fleetHistory.round(signal),
  };
}
