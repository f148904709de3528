import { LIMITS } from '../../../domain/limits.ts';
import type { Clock } from '../../../time/clock.ts';
import type { Watched } from '../../contract/panel/live.ts';
import type { SharedReads } from '../request/route.ts';

/** Accounts whose reads are kept; the one that was asked for longest ago is forgotten first. */
const ACCOUNTS_KEPT_MAX = 500;

interface Kept {
  readonly at: number;
  readonly value: Promise<object>;
}

/**
 * What memory does not hold, read once for all viewers of an account: those who ask within `LIMITS.watchedReadsEveryMs`
 * get the same outcome. A failure is not kept.
 */
export function createSharedReads({ clock }: { readonly clock: Pick<Clock, 'monotonic'> }): SharedReads {
  const byAccount = new Map<string, Map<Watched, Kept>>();

  function keptOf(accountId: string): Map<Watched, Kept> {
    const kept = byAccount.get(accountId) ?? new Map<Watched, Kept>();
    byAccount.delete(accountId);
    byAccount.set(accountId, kept);
    const [oldest] = byAccount.keys();
    if (byAccount.size > ACCOUNTS_KEPT_MAX && oldest !== undefined) byAccount.delete(oldest);
    return kept;
  }

  return {
    get<T extends object>(accountId: string, what: Watched, read: () => Promise<T>): Promise<T> {
      const kept = keptOf(accountId);
      const before = kept.get(what);
      if (before && clock.monotonic() - before.at < LIMITS.watchedReadsEveryMs) return before.value as Promise<T>;
      const value = read();
      const now: Kept = { at: clock.monotonic(), value };
      kept.set(what, now);
      value.catch(() => {
        if (kept.get(what) === now) kept.delete(what);
      });
      return value;
    },
    forget(accountId) {
      byAccount.delete(accountId);
    },
  };
}
