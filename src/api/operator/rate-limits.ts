import type { RateLimitedAccount } from '../../domain/limited-accounts/limited-accounts.ts';
import { Refusal } from '../../domain/refusal.ts';
import { dateTime } from '../../time/date-time.ts';
import * as operations from '../contract/operator/service.ts';
import { handle } from './route.ts';

/** GET /operator/v1/rate-limits: the accounts that are limited, or near it, over all replicas. */
export const readRateLimits = handle(operations.readRateLimits)(async ({ query }, { limitedAccounts }) => {
  const asked = operations.limitsQuery.safeParse(Object.fromEntries(query));
  if (!asked.success) throw new Refusal('invalid_request', `top: 1 to ${operations.TOP_MAX}.`);
  const { accounts, limited } = await limitedAccounts.current();
  return { status: 200, body: { limited, accounts: accounts.slice(0, asked.data.top).map(accountBody) } };
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
