import type { Limited, LimitedAccount, ReplicaRecord } from '../records/replica-records.ts';
import type { RefusedRequests } from './refused-requests.ts';

/*
 * Which accounts are limited, over all replicas (docs/adr/0034-limited-accounts.md). Each replica publishes what it
 * knows with its announcement; whoever asks merges what all have published.
 */

/** Accounts whose refusals a replica publishes by key and operation. */
const ACCOUNTS_PUBLISHED_MAX = 20;
/** Accounts near their limit that a replica publishes. */
const FILLS_PUBLISHED_MAX = 200;
/** An account whose window is less full is not near its limit. */
const NEAR_RATIO = 0.25;

/** An account that is limited, or near it. */
export interface RateLimitedAccount {
  readonly accountId: string;
  /** How full its window is, 0 to 1: as the replica sees it that sees the most. */
  readonly fill: number;
  /** Requests refused in the last 60 s, by all replicas. */
  readonly refused: number;
  /** The same by key and operation, the most first. */
  readonly by: LimitedAccount['by'];
  /** On the wall clock in milliseconds; undefined where it is not limited. */
  readonly since: number | undefined;
  /** When the next request is free, as of the last refusal. */
  readonly liftsAt: number | undefined;
}

export interface RateLimits {
  /** The most refused first, then the fullest. */
  readonly accounts: readonly RateLimitedAccount[];
  /** Distinct accounts that were refused in the last 60 s; exact up to 200 a replica. */
  readonly limited: number;
}

/** Returns what a replica publishes: nothing where no account is limited or near it. */
export function observedLimits(
  refused: Pick<RefusedRequests, 'accounts'>,
  fills: ReadonlyMap<string, number>,
): { limited?: Limited } {
  const accounts = refused.accounts();
  const near = [...fills].filter(([, fill]) => fill >= NEAR_RATIO).sort(([, one], [, other]) => other - one);
  if (accounts.length === 0 && near.length === 0) return {};
  return {
    limited: {
      accounts: accounts.slice(0, ACCOUNTS_PUBLISHED_MAX),
      ids: accounts.map(({ accountId }) => accountId),
      fills: near
        .slice(0, FILLS_PUBLISHED_MAX)
        .map(([accountId, fill]) => [accountId, Math.round(Math.min(1, fill) * 1e4) / 1e4]),
    },
  };
}

/** Merges what the replicas have published: refusals are added up, and every account is there once. */
export function mergedLimits(replicas: readonly Pick<ReplicaRecord, 'limited'>[]): RateLimits {
  const published = replicas.flatMap(({ limited }) => limited ?? []);
  const fills = new Map<string, number>();
  const refusals = new Map<string, LimitedAccount[]>();
  for (const { accounts, fills: known } of published) {
    for (const [accountId, fill] of known) fills.set(accountId, Math.max(fill, fills.get(accountId) ?? 0));
    for (const account of accounts) {
      refusals.set(account.accountId, [...(refusals.get(account.accountId) ?? []), account]);
    }
  }
  const ids = new Set([...refusals.keys(), ...fills.keys()]);
  const accounts = [...ids].map((accountId) => merged(accountId, fills.get(accountId), refusals.get(accountId) ?? []));
  return {
    accounts: accounts.sort((one, other) => other.refused - one.refused || other.fill - one.fill),
    limited: new Set(published.flatMap(({ ids }) => ids)).size,
  };
}

function merged(accountId: string, fill: number | undefined, refusals: readonly LimitedAccount[]): RateLimitedAccount {
  const sums = new Map<string, LimitedAccount['by'][number]>();
  for (const { keyId, operation, refused } of refusals.flatMap(({ by }) => by)) {
    const name = `${keyId} ${operation}`;
    sums.set(name, { keyId, operation, refused: refused + (sums.get(name)?.refused ?? 0) });
  }
  const isLimited = refusals.length > 0;
  return {
    accountId,
    // One that is refused and not among the fullest has a full window all the same.
    fill: fill ?? 1,
    refused: refusals.reduce((sum, { refused }) => sum + refused, 0),
    by: [...sums.values()].sort((one, other) => other.refused - one.refused),
    since: isLimited ? Math.min(...refusals.map(({ since }) => since)) : undefined,
    liftsAt: isLimited ? Math.max(...refusals.map(({ liftsAt }) => liftsAt)) : undefined,
  };
}
