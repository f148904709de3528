import type { FleetHistory } from '../domain/fleet-history/fleet-history.ts';
import type { Fleet } from '../domain/fleet/fleet.ts';
import type { AccountRollouts } from '../domain/rollouts/account-rollouts.ts';
import { rolloutTotals, type AccountFleet, type RolloutTotals } from '../domain/rollouts/rollout-totals.ts';
import { staleAfterMs } from '../domain/rollouts/rollout.ts';
import type { Transitions } from '../domain/transitions/transitions.ts';
import type { Store } from '../store/port.ts';
import type { Clock } from '../time/clock.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';
import type { RolloutMetrics } from './rollout-metrics.ts';

interface RolloutDeps {
  readonly store: Pick<Store, 'list'>;
  readonly fleet: Pick<Fleet, 'memory'>;
  readonly clock: Clock;
  readonly metrics: RolloutMetrics;
  readonly accountRollouts: Pick<AccountRollouts, 'counted'>;
  readonly fleetHistory: Pick<FleetHistory, 'due' | 'counted'>;
  readonly transitions: Pick<Transitions, 'begin'>;
  readonly pollIntervalSeconds: number;
  /** Whether account ids may become labels (`MUSTER_METRICS_ACCOUNTS`). */
  readonly metricsAccounts: boolean;
}

const COUNT_EVERY_MS = 60_000;
const CHECK_EVERY_MS = 1000;
const WRITE_EVERY_MS = 5000;

/**
 * Counts the devices that have their account's configuration, and those that do not: for the metrics, and for all
 * replicas the accounts that stand out. The round also compares each account with what was told of it, and once an hour
 * counts the fleets of all accounts, for the loops below to write. This one writes nothing but this replica's
 * announcement, so it needs no fence; only the leader shows the numbers, so that a sum over replicas is right. A round
 * throws `StoreUnavailable`.
 */
export function rolloutReconciler(deps: RolloutDeps, term: Pick<Term, 'signal'>): Reconciler {
  const { store, fleet, clock, metrics, accountRollouts, fleetHistory, transitions, metricsAccounts } = deps;
  const stale = staleAfterMs(deps.pollIntervalSeconds);
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
      const hour = fleetHistory.due();
      const fleets: AccountFleet[] = [];
      const comparison = await transitions.begin();
      const totals = await rolloutTotals({ store, memory: fleet.memory, clock }, stale, signal, {
        onFleet: hour === undefined ? undefined : (one) => void fleets.push(one),
        onAccount: comparison && ((walked) => comparison.account(walked)),
      });
      if (!totals || signal.aborted) return;
      show(totals);
      comparison?.ended();
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

/** Writes the transitions that were found. A round throws `StoreUnavailable`. */
export function transitionsReconciler({ transitions }: { readonly transitions: Transitions }): Reconciler {
  return {
    name: 'transitions',
    everyMs: WRITE_EVERY_MS,
    reconcile: async (signal) => await transitions.round(signal),
  };
}
