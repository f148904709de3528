import type { LimitedAccounts } from '../../../domain/limited-accounts/service.ts';
import type { RateLimitedAccount } from '../../../domain/limited-accounts/limited-accounts.ts';
import { LIMITS } from '../../../domain/limits.ts';
import type { Usage, Usages } from '../../../domain/metering/usage.ts';
import type { Delivery } from '../../../domain/rollouts/deliveries.ts';
import type { CountedRollout, Rollouts } from '../../../domain/rollouts/rollouts.ts';
import type { CountReviews, ReviewCounts } from '../../../domain/review-queue/review-counts.ts';
import { RecentMap } from '../../../packed/recent-map.ts';
import type { Clock } from '../../../time/clock.ts';
import { dayAt } from '../../../time/utc-days.ts';
import type { Watched } from '../../contract/panel/live.ts';

/** Accounts whose reads are kept; the one that was asked for longest ago is forgotten first. */
const ACCOUNTS_KEPT_MAX = 500;

interface Kept {
  readonly at: number;
  readonly value: Promise<object>;
  isUnderWay: boolean;
}

/** The reads for all accounts together. */
const EVERY_ACCOUNT = '';

/** How near an account is to its rate limit. */
interface AccountLimits {
  /** How full its window is, 0 to 1: as the replica sees it that sees the most. */
  readonly fill: number;
  /** Undefined where it is not limited, nor near it on any replica. */
  readonly limited: RateLimitedAccount | undefined;
}

/** The daemons of an account, each with its state of a revision. */
interface Deliveries {
  readonly revision: number;
  readonly deliveries: readonly Delivery[];
}

/** Memory does not hold these of an account: each is at most `LIMITS.watchedReadsEveryMs` old. */
export interface WatchedReads extends Readonly<Record<Watched, (accountId: string) => Promise<object>>> {
  /** @throws Refusal `not_found`; StoreUnavailable */
  rollout(accountId: string): Promise<CountedRollout>;
  /** Reads the state of each daemon, together with the rollout. @throws Refusal `not_found`; StoreUnavailable */
  deliveries(accountId: string): Promise<Deliveries>;
  /** @throws Refusal `not_found`; StoreUnavailable */
  reviews(accountId: string): Promise<ReviewCounts>;
  /** The usage of this month. @throws Refusal `not_found`; StoreUnavailable; BadRecord */
  usage(accountId: string): Promise<Usage>;
  /** @throws StoreUnavailable; BadRecord */
  limits(accountId: string): Promise<AccountLimits>;
  /** Forgets what was read of an account, after a change of it by this replica. */
  forget(accountId: string): void;
}

interface WatchedReadsDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly rollouts: Rollouts;
  readonly countReviews: CountReviews;
  readonly usages: Usages;
  readonly limitedAccounts: Pick<LimitedAccounts, 'current'>;
  /** How full the window of an account is, as this replica knows it: 0 to 1. */
  readonly rateFill: (accountId: string) => number;
}

/** Reads for all viewers of an account together. */
export function createWatchedReads(deps: WatchedReadsDeps): WatchedReads {
  const { clock, rollouts, countReviews, usages, limitedAccounts, rateFill } = deps;
  const shared = createSharedReads(deps);
  const delivered = (accountId: string) => shared.get(accountId, 'rollout', () => rollouts.withDeliveries(accountId));
  const monthOf = (): string => dayAt(clock.now()).slice(0, 7);
  return {
    rollout: async (accountId) => (await delivered(accountId)).rollout,
    async deliveries(accountId) {
      const { rollout, deliveries } = await delivered(accountId);
      return { revision: rollout.revision, deliveries };
    },
    reviews: (accountId) => shared.get(accountId, 'reviews', () => countReviews(accountId)),
    usage: (accountId) =>
      shared.get(accountId, 'usage', () =>
        usages.read({ month: monthOf(), of: { accountId } }, async (work) => await work),
      ),
    async limits(accountId) {
      const { accounts } = await shared.get(EVERY_ACCOUNT, 'limits', () => limitedAccounts.current());
      const limited = accounts.find((account) => account.accountId === accountId);
      return { fill: Math.min(1, Math.max(limited?.fill ?? 0, rateFill(accountId))), limited };
    },
    forget: (accountId) => shared.forget(accountId),
  };
}

/** Reads that are shared for a while. */
interface SharedReads {
  /** The outcome of the last read, or of a new one. @throws whatever `read` throws; a failure is not kept */
  get<T extends object>(accountId: string, what: Watched, read: () => Promise<T>): Promise<T>;
  forget(accountId: string): void;
}

/**
 * Reads what memory does not hold, once for all viewers of an account: those who ask within
 * `LIMITS.watchedReadsEveryMs` get the same outcome, and so do those who ask while a read is under way. A failure is
 * not kept.
 */
export function createSharedReads({ clock }: { readonly clock: Pick<Clock, 'monotonic'> }): SharedReads {
  const byAccount = new RecentMap<string, Map<Watched, Kept>>(ACCOUNTS_KEPT_MAX);

  function keptOf(accountId: string): Map<Watched, Kept> {
    const kept = byAccount.get(accountId) ?? new Map<Watched, Kept>();
    byAccount.set(accountId, kept);
    return kept;
  }

  return {
    get<T extends object>(accountId: string, what: Watched, read: () => Promise<T>): Promise<T> {
      const kept = keptOf(accountId);
      const before = kept.get(what);
      const isFresh = before && clock.monotonic() - before.at < LIMITS.watchedReadsEveryMs;
      if (before?.isUnderWay === true || isFresh === true) return before?.value as Promise<T>;
      const value = read();
      const now: Kept = { at: clock.monotonic(), value, isUnderWay: true };
      kept.set(what, now);
      value.then(
        () => (now.isUnderWay = false),
        () => {
          if (kept.get(what) === now) kept.delete(what);
        },
      );
      return value;
    },
    forget(accountId) {
      byAccount.delete(accountId);
    },
  };
}
