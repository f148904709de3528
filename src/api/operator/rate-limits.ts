import * as z from 'zod';
import type { RateLimitedAccount } from '../../domain/limited-accounts/limited-accounts.ts';
import { Refusal } from '../../domain/refusal.ts';
import { dateTime } from '../../time/date-time.ts';
import { route } from './route.ts';

const TOP_MAX = 20;
const topSchema = z
  .string()
  .regex(/^\d{1,2}$/)
  .transform(Number)
  .pipe(z.int().min(1).max(TOP_MAX))
  .default(TOP_MAX);

/** GET /operator/v1/rate-limits: the accounts that are limited, or near it, over all replicas. */
export const readRateLimits = route({
  method: 'get',
  path: '/operator/v1/rate-limits',
  async handle({ query }, { limitedAccounts }) {
    const top = topSchema.safeParse(query.get('top') ?? undefined);
    if (!top.success) throw new Refusal('invalid_request', `top: 1 to ${TOP_MAX}.`);
    const { accounts, limited } = await limitedAccounts.current();
    return { status: 200, body: { limited, accounts: accounts.slice(0, top.data).map(accountBody) } };
  },
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
