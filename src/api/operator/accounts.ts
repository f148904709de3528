import * as z from 'zod';
import type { Account } from '../../domain/accounts/accounts.ts';
import { LIMITS } from '../../domain/limits.ts';
import { dateTime } from '../../time/date-time.ts';
import { text } from '../http/fields.ts';
import { pageOf, route } from './route.ts';

const name = text({ codePointsMax: LIMITS.accountNameCodePointsMax }).min(1);
const entitlement = z.enum(['standard', 'enterprise']);

const adoptableBy = z
  .string()
  .max(507)
  .regex(/^[a-z0-9][-a-z0-9]*\/[a-z0-9][-a-z0-9.]*$/);

const accountBody = ({
  accountId,
  name,
  entitlement,
  disabled,
  createdAt,
  adoptableBy,
  managedBy,
}: Account): object => ({
  accountId,
  name,
  entitlement,
  disabled,
  createdAt: dateTime(createdAt),
  ...(adoptableBy !== undefined && { adoptableBy }),
  ...(managedBy && { managedBy: `${managedBy.namespace}/${managedBy.name}` }),
});

/** POST /operator/v1/accounts. */
export const createAccount = route({
  method: 'post',
  path: '/operator/v1/accounts',
  body: z.object({ name, entitlement }),
  async handle({ origin, body }, { accounts }) {
    return { status: 201, body: accountBody(await accounts.create(origin, body)) };
  },
});

/** GET /operator/v1/accounts, page by page. */
export const listAccounts = route({
  method: 'get',
  path: '/operator/v1/accounts',
  async handle({ query }, { accounts }) {
    const { items, next } = await accounts.list(pageOf(query));
    return { status: 200, body: { accounts: items.map(accountBody), ...(next !== undefined && { next }) } };
  },
});

/** GET /operator/v1/accounts/{accountId}. */
export const readAccount = route({
  method: 'get',
  path: '/operator/v1/accounts/:accountId',
  async handle({ accountId }, { accounts }) {
    return { status: 200, body: accountBody(await accounts.read(accountId)) };
  },
});

/** PATCH /operator/v1/accounts/{accountId}; absent fields stay as they are. */
export const changeAccount = route({
  method: 'patch',
  path: '/operator/v1/accounts/:accountId',
  body: z.object({
    name: name.optional(),
    entitlement: entitlement.optional(),
    disabled: z.boolean().optional(),
    adoptableBy: adoptableBy.nullable().optional(),
  }),
  async handle({ origin, accountId, body }, { accounts }) {
    return { status: 200, body: accountBody(await accounts.change(origin, accountId, body)) };
  },
});
