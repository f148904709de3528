import type { AccountReader } from '../../../domain/fleet/reader.ts';
import { expiresSoon } from '../../../domain/key-validity/key-expiry.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { countApps } from '../../../domain/rollouts/app-counts.ts';
import { staleAfterMs } from '../../../domain/rollouts/rollout.ts';
import { isNearQuota, quotaBytesOf, type AccountStorage } from '../../../domain/quota/account-quota.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { resourceNameOf } from '../../../domain/resource-bindings/adoption.ts';
import { dateTime } from '../../../time/date-time.ts';
import { dayAt } from '../../../time/utc-days.ts';
import * as operations from '../../contract/panel/account.ts';
import { refusedByBody } from '../../operator/rate-limits.ts';
import { handle, type PanelRequest, type PanelServices } from '../request/route.ts';

/** The account in the path, as new as the request. @throws Refusal `not_found`; StoreUnavailable */
export async function accountOf({
  reader,
  accountId,
}: Pick<PanelRequest<unknown>, 'reader' | 'accountId'>): Promise<AccountReader> {
  const account = await reader.account(accountId);
  if (!account) throw new Refusal('not_found');
  return account;
}

/** GET /panel/v1/accounts/{accountId}/overview. */
export const readOverview = handle(operations.readOverview)(async (request, services) => {
  const account = await accountOf(request);
  const { name, entitlement, disabled, createdAt, managedBy } = account.record;
  return {
    status: 200,
    body: {
      accountId: account.id,
      name,
      entitlement,
      disabled,
      createdAt: dateTime(createdAt),
      ...(managedBy && { managedBy: resourceNameOf(managedBy) }),
      storage: storageBody(services.accounts.storage({ accountId: account.id, ...account.record })),
      apps: await appsByStatus(account, services),
      expiringKeys: await expiringKeys(account, services),
      month: await monthSoFar(request, services),
    },
  };
});

function storageBody({ storedBytes, quotaMb }: AccountStorage): operations.Overview['storage'] {
  const quotaBytes = quotaBytesOf({ quotaMb }, 0) ?? null;
  return { storedBytes, quotaBytes, near: quotaBytes !== null && isNearQuota(storedBytes, quotaBytes) };
}

async function expiringKeys(
  account: AccountReader,
  { clock }: PanelServices,
): Promise<operations.Overview['expiringKeys']> {
  const now = clock.now();
  const ending = (await account.apiKeys()).flatMap(({ id, record }) =>
    record.expiring && expiresSoon(record, now)
      ? [{ keyId: id, name: record.name, at: record.expiring.expiresAt }]
      : [],
  );
  return ending
    .toSorted((a, b) => a.at - b.at || (a.keyId < b.keyId ? -1 : 1))
    .map(({ at, ...key }) => ({ ...key, expiresAt: dateTime(at) }));
}

async function appsByStatus(
  account: AccountReader,
  { clock, pollIntervalSeconds }: PanelServices,
): Promise<operations.Overview['apps']> {
  const { record: seen } = await account.lastSeen();
  const apps = await account.apps();
  const counts = countApps({ apps, seen, now: clock.now(), staleAfterMs: staleAfterMs(pollIntervalSeconds) });
  return { ...counts, most: LIMITS.appsPerAccountMax };
}

/** The page shows its other numbers where the ledger cannot be read. */
async function monthSoFar(
  { accountId, inTime }: PanelRequest<unknown>,
  { watched, clock }: PanelServices,
): Promise<operations.Overview['month']> {
  const month = dayAt(clock.now()).slice(0, 7);
  try {
    const usage = await inTime(watched.usage(accountId));
    const [own] = usage.accounts;
    const { currency, pricePerDaemonMonth, complete } = usage;
    if (!own || usage.month !== month) return null;
    const { daemonNights, amountMinor, nights } = own;
    return { month, currency, pricePerDaemonMonth, nights: nights.length, daemonNights, amountMinor, complete };
  } catch (error) {
    if (error instanceof Refusal) throw error;
    return null;
  }
}

/** GET /panel/v1/accounts/{accountId}/rate-limit. */
export const readAccountRate = handle(operations.readAccountRate)(async ({ accountId, reader }, { watched }) => {
  const { fill, limited } = await watched.limits(accountId);
  const body: operations.AccountRate = {
    most: LIMITS.requestsPerWindowMax,
    fill,
    refused: limited?.refused ?? 0,
    refusedBy: await refusedByBody(reader, accountId, limited?.by ?? []),
    limitedSince: limited?.since === undefined ? null : dateTime(limited.since),
    liftsAt: limited?.liftsAt === undefined ? null : dateTime(limited.liftsAt),
  };
  return { status: 200, body };
});
