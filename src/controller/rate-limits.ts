import type { RateLimitedAccount } from '../domain/limited-accounts/limited-accounts.ts';
import type { LimitedAccounts } from '../domain/limited-accounts/service.ts';
import { ANNOUNCE_EVERY_MS } from '../domain/replicas/replicas.ts';
import type { Clock } from '../time/clock.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';
import type { RateLimitMetrics } from './metrics.ts';

interface RateLimitsDeps {
  readonly limitedAccounts: Pick<LimitedAccounts, 'current'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly metrics: RateLimitMetrics;
  /** Whether account ids may become labels (`MUSTER_METRICS_ACCOUNTS`). */
  readonly metricsAccounts: boolean;
}

/** The accounts that have series of their own. */
export const SERIES_MAX = 20;
/** Prometheus and a person who looks see a series at least this long. */
export const SERIES_KEPT_MS = 5 * 60_000;

/**
 * Shows in the metrics which accounts are limited, or near it, over all replicas. It writes nothing, so it needs no
 * fence; only the leader shows the numbers, so that each account is counted once. A round throws `StoreUnavailable`
 * and `BadRecord`.
 */
export function rateLimitsReconciler(
  { limitedAccounts, clock, metrics, metricsAccounts }: RateLimitsDeps,
  term: Pick<Term, 'signal'>,
): Reconciler {
  const shown = new ShownAccounts();
  term.signal.addEventListener('abort', () => metrics.rateLimitsCounted(undefined), { once: true });
  return {
    name: 'rate-limits',
    everyMs: ANNOUNCE_EVERY_MS,
    async reconcile(signal) {
      const { accounts, limited } = await limitedAccounts.current();
      const top = metricsAccounts ? shown.after(accounts, clock.monotonic()) : [];
      if (!signal.aborted) metrics.rateLimitsCounted({ top, limited, fills: accounts.map(({ fill }) => fill) });
    },
  };
}

type Shown = Pick<RateLimitedAccount, 'accountId' | 'fill' | 'refused'>;

/** The accounts with series: those of now, and as far as there is room those that were there in the last 5 minutes. */
class ShownAccounts {
  /** When each was last limited or near it; the newest are last. */
  readonly #seenAt = new Map<string, number>();

  after(accounts: readonly Shown[], now: number): readonly Shown[] {
    const top = accounts.slice(0, SERIES_MAX);
    for (const { accountId } of top.toReversed()) {
      this.#seenAt.delete(accountId);
      this.#seenAt.set(accountId, now);
    }
    const present = new Set(top.map(({ accountId }) => accountId));
    const kept: Shown[] = [];
    for (const [accountId, seenAt] of [...this.#seenAt].toReversed()) {
      if (now - seenAt >= SERIES_KEPT_MS || present.size + kept.length >= SERIES_MAX) {
        if (!present.has(accountId)) this.#seenAt.delete(accountId);
      } else if (!present.has(accountId)) kept.push({ accountId, fill: 0, refused: 0 });
    }
    return [...top, ...kept];
  }
}
