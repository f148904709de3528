import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { accountId, count, described, double, entitlement, instant, instantOrNull, keyId } from '../fields.ts';
import { operation, READERS } from '../operation.ts';
import { storedBytes } from '../operator/accounts.ts';
import { readRateLimits } from '../operator/service.ts';

/* An account at a glance, and how much of its rate is used. */

const ACCOUNT = '/panel/v1/accounts/:accountId';

const overview = z
  .object({
    accountId,
    name: described(z.string(), 'The name of the account.', 'acme'),
    entitlement,
    disabled: described(z.boolean(), 'Whether the account is disabled.', false),
    createdAt: instant('When the account was created.'),
    managedBy: described(z.string(), 'The FleetAccount that manages the account.', 'production/acme').optional(),
    storage: described(
      z.object({
        storedBytes,
        quotaBytes: described(
          z.int().min(0).nullable(),
          'The quota in bytes; null where there is none.',
          1_073_741_824,
        ),
        near: described(z.boolean(), 'Whether 80 % of the quota or more is used.', false),
      }),
      'What the account stores, against its quota.',
      undefined,
    ),
    apps: described(
      z.object({
        total: count('All apps.', 100),
        pending: count('Apps that wait for their daemon.', 3),
        active: count('Apps whose daemon is enrolled: so many are metered tonight.', 95),
        revoked: count('Apps that are cut off.', 2),
        silent: count('Active apps without a contact for longer than three polls.', 1),
        most: count('The most apps that an account may have.', LIMITS.appsPerAccountMax),
      }),
      'The apps by status.',
      undefined,
    ),
    expiringKeys: described(
      z.array(
        z
          .object({
            keyId,
            name: described(z.string(), 'The name of the key.', 'ci'),
            expiresAt: instant('When it ends.'),
          })
          .meta({ id: 'ExpiringKey', description: 'An API key that ends soon.' }),
      ),
      'The API keys that expire within 14 days, the next one first.',
      undefined,
    ),
    month: described(
      z
        .object({
          month: described(z.string(), 'The month, in UTC.', '2026-01'),
          currency: described(z.string(), 'The currency of the amount, ISO 4217.', 'EUR'),
          pricePerDaemonMonth: described(z.string().nullable(), 'The price of a daemon for a month.', '0.50'),
          nights: count('Nights that are metered so far.', 24),
          daemonNights: count('The sum of the active daemons over the nights.', 2300),
          amountMinor: described(z.int(), 'The amount so far, in minor units of the currency.', 3710),
          complete: described(z.boolean(), 'Every night that has ended is metered.', true),
        })
        .nullable(),
      'What the month comes to so far; null where it cannot be told.',
      undefined,
    ),
  })
  .meta({ id: 'Overview', description: 'An account at a glance.' });
export type Overview = z.infer<typeof overview>;

export const readOverview = operation({
  id: 'readOverview',
  method: 'get',
  path: `${ACCOUNT}/overview`,
  access: 'viewer',
  roles: READERS,
  summary: 'Show the account at a glance',
  description: 'Shows the apps by status, the API keys that expire soon, and what the month comes to so far.',
  answers: [{ status: 200, description: 'The account.', schema: overview }],
});

const [limitsAnswer] = readRateLimits.answers;
const refusedBy = z
  .object({
    keyId: described(z.string(), 'The API key.', 'n4c8r2w6y1z5'),
    keyName: described(z.string(), 'The name of the key; absent where it has none, or is revoked.', 'ci').optional(),
    operation: described(z.string(), 'The method and the template of the path.', 'POST /v1/apps'),
    refused: count('Requests refused in the last 60 s.', 12),
  })
  .meta({ id: 'RefusedRequests', description: limitsAnswer.description });

const accountRate = z
  .object({
    most: count('Requests of `/v1` in any 60 seconds.', LIMITS.requestsPerWindowMax),
    fill: described(double.min(0).max(1), 'How full the window is, 0 to 1.', 0.25),
    refused: count('Requests refused in the last 60 s.', 12),
    refusedBy: described(z.array(refusedBy), 'The same by key and operation, the most first.', undefined),
    limitedSince: instantOrNull('Since when the account is limited; null where it is not.'),
    liftsAt: instantOrNull('When its next request is free; null where it is not limited.'),
  })
  .meta({ id: 'AccountRate', description: 'How much of its rate an account uses.' });

export type AccountRate = z.infer<typeof accountRate>;

export const readAccountRate = operation({
  id: 'readAccountRate',
  method: 'get',
  path: `${ACCOUNT}/rate-limit`,
  access: 'viewer',
  roles: READERS,
  summary: 'Show the rate of the account',
  description: 'Shows how full the account’s window of requests is, over all replicas, at most five seconds behind.',
  answers: [{ status: 200, description: 'The rate.', schema: accountRate }],
});
