import { nameNow } from '../../domain/audit/names.ts';
import type { FleetReader } from '../../domain/fleet/reader.ts';
import type { RateLimitedAccount } from '../../domain/limited-accounts/limited-accounts.ts';
import { dateTime } from '../../time/date-time.ts';
import * as operations from '../contract/operator/service.ts';
import { handle } from './route.ts';

/** GET /operator/v1/rate-limits: the accounts that are limited, or near it, over all replicas. */
export const readRateLimits = handle(operations.readRateLimits)(async ({ query }, { limitedAccounts, fleet }) => {
  const { accounts, limited } = await limitedAccounts.current();
  const reader = await fleet.current();
  const bodies = accounts.slice(0, query.top).map((account) => accountBody(reader, account));
  return { status: 200, body: { limited, accounts: await Promise.all(bodies) } };
});

async function accountBody(reader: FleetReader, { accountId, fill, refused, by, since, liftsAt }: RateLimitedAccount) {
  const name = await nameNow(reader, accountId, `account:${accountId}`);
  return {
    accountId,
    ...(name !== undefined && { name }),
    fill,
    refused,
    refusedBy: await refusedByBody(reader, accountId, by),
    limitedSince: since === undefined ? null : dateTime(since),
    liftsAt: liftsAt === undefined ? null : dateTime(liftsAt),
  };
}

/** Refused requests of an account's keys, with the names of these. */
export const refusedByBody = (reader: FleetReader, accountId: string, by: RateLimitedAccount['by']) =>
  Promise.all(
    by.map(async ({ keyId, operation, refused }) => {
      const keyName = await nameNow(reader, accountId, `key:${keyId}`);
      return { keyId, ...(keyName !== undefined && { keyName }), operation, refused };
    }),
  );
