import type { RateLimitedAccount } from '../../domain/limited-accounts/limited-accounts.ts';
import { dateTime } from '../../time/date-time.ts';
import * as operations from '../contract/operator/service.ts';
import { handle } from './route.ts';

/** GET /operator/v1/rate-limits: the accounts that are limited, or near it, over all replicas. */
export const readRateLimits = handle(operations.readRateLimits)(async ({ query }, { limitedAccounts }) => {
  const { accounts, limited } = await limitedAccounts.current();
  return { status: 200, body: { limited, accounts: accounts.slice(0, query.top).map(accountBody) } };
});

function accountBody({ accountId, fill, refused, by, since, liftsAt }: RateLimitedAccount) {
  return {
    accountId,
    fill,
    refused,
    refusedBy: by.map(({ keyId, operation, refused }) => ({ keyId, operation, refused })),
    limitedSince: since === undefined ? null : dateTime(since),
    liftsAt: liftsAt === undefined ? null : dateTime(liftsAt),
  };
}
