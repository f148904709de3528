import type { Account, Accounts } from '../../domain/accounts/accounts.ts';
import type { Offer } from '../../domain/accounts/offers.ts';
import { resourceNameOf } from '../../domain/resource-bindings/adoption.ts';
import type { ConsentedApp } from '../../domain/resource-bindings/app-consents.ts';
import { dateTime } from '../../time/date-time.ts';
import * as operations from '../contract/operator/accounts.ts';
import * as appOperations from '../contract/operator/apps.ts';
import { REPLAYED } from '../http/request-headers.ts';
import { handle } from './route.ts';

function accountBody(accounts: Pick<Accounts, 'storage'>, account: Account) {
  const { accountId, name, entitlement, disabled, createdAt, adoptableBy, consent, managedBy, releasedBy } = account;
  return {
    accountId,
    name,
    entitlement,
    disabled,
    createdAt: dateTime(createdAt),
    ...accounts.storage(account),
    ...offerBody({ adoptableBy, consent }),
    ...(managedBy && { managedBy: resourceNameOf(managedBy) }),
    ...(releasedBy && { releasedBy: resourceNameOf(releasedBy) }),
  };
}

/** POST /operator/v1/accounts. */
export const createAccount = handle(operations.createAccount)(async ({ origin, body, idempotency }, { accounts }) => {
  const created = await accounts.create(origin, body, idempotency);
  return { status: 201, body: accountBody(accounts, created), headers: created.replayed ? REPLAYED : [] };
});

/** GET /operator/v1/accounts, page by page. */
export const listAccounts = handle(operations.listAccounts)(async ({ query: { limit, after } }, { accounts }) => {
  const { items, next } = await accounts.list({ limit, after });
  return {
    status: 200,
    body: { accounts: items.map((item) => accountBody(accounts, item)), ...(next !== undefined && { next }) },
  };
});

/** GET /operator/v1/accounts/{accountId}. */
export const readAccount = handle(operations.readAccount)(async ({ accountId }, { accounts }) => ({
  status: 200,
  body: accountBody(accounts, await accounts.read(accountId)),
}));

/** PATCH /operator/v1/accounts/{accountId}; absent fields stay as they are. */
export const changeAccount = handle(operations.changeAccount)(async ({ origin, accountId, body }, { accounts }) => ({
  status: 200,
  body: accountBody(accounts, await accounts.change(origin, accountId, body)),
}));

/** Until when a consent holds, and for which namespace; one of an earlier version holds no more. */
const offerBody = ({ adoptableBy, consent }: Offer) =>
  adoptableBy === undefined
    ? {}
    : {
        adoptableBy,
        adoptableUntil: dateTime(consent?.until ?? 0),
        ...(consent?.namespaceUid !== undefined && { namespaceUid: consent.namespaceUid }),
      };

const appBody = ({ appId, name, status, adoptableBy, consent, managedBy }: ConsentedApp) => ({
  appId,
  name,
  status,
  ...offerBody({ adoptableBy, consent }),
  ...(managedBy !== undefined && { managedBy }),
});

/** GET /operator/v1/accounts/{accountId}/apps, page by page. */
export const listAccountApps = handle(appOperations.listAccountApps)(async (
  { accountId, query: { limit, after } },
  { appConsents },
) => {
  const { items, next } = await appConsents.list(accountId, { limit, after });
  return { status: 200, body: { apps: items.map(appBody), ...(next !== undefined && { next }) } };
});

/** PATCH /operator/v1/accounts/{accountId}/apps/{appId}. */
export const changeAccountApp = handle(appOperations.changeAccountApp)(
  async ({ origin, accountId, appId, body }, { appConsents }) => ({
    status: 200,
    body: appBody(await appConsents.change(origin, accountId, appId, body)),
  }),
);
