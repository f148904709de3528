import type { FleetMemory } from '../domain/fleet/memory.ts';
import { quotaState } from '../domain/quota/growth.ts';
import type { StoredBytes } from '../domain/quota/stored-bytes.ts';
import type { Clock } from '../time/clock.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';
import type { AccountQuotaMetrics } from './metrics.ts';

interface AccountQuotaDeps {
  readonly storedBytes: Pick<StoredBytes, 'round'>;
  readonly fleet: { readonly memory: Pick<FleetMemory, 'accounts'> };
  readonly clock: Pick<Clock, 'now'>;
  readonly metrics: AccountQuotaMetrics;
  readonly accountQuotaMb: number;
  /** Whether account ids may become labels (`MUSTER_METRICS_ACCOUNTS`). */
  readonly metricsAccounts: boolean;
}

/** As often as entries are sealed, by which accounts are counted. */
const ROUND_EVERY_MS = 5000;
/** The accounts that grow fastest, and those whose quotas end first, have series of their own. */
const NAMED_MAX = 3;

/**
 * Keeps what each account stores of its own (A16), and shows in the metrics which accounts are near their quota. A
 * round throws `StoreUnavailable` and `BadRecord`.
 */
export function accountQuotaReconciler(deps: AccountQuotaDeps, term: Pick<Term, 'signal'>): Reconciler {
  const { storedBytes, fleet, clock, metrics, accountQuotaMb, metricsAccounts } = deps;
  term.signal.addEventListener('abort', () => metrics.quotasCounted(undefined), { once: true });
  return {
    name: 'account-quota',
    everyMs: ROUND_EVERY_MS,
    async reconcile(signal) {
      await storedBytes.round(signal);
      const state = quotaState(fleet.memory, accountQuotaMb, clock.now(), metricsAccounts ? NAMED_MAX : 0);
      if (!signal.aborted) metrics.quotasCounted(state);
    },
  };
}
