import { NO_CREDENTIALS } from '../../domain/users/credential-list.ts';
import type { MadeKeyList } from '../../domain/users/made-keys.ts';
import type { ListedAccessToken } from '../../domain/users/made-tokens.ts';
import type { MadeLink } from '../../domain/users/links.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { User } from '../../domain/users/users.ts';
import { dateTime } from '../../time/date-time.ts';
import * as operations from '../contract/operator/users.ts';
import { listedBody } from './api-keys.ts';
import { handle, type OperatorServices } from './route.ts';

const userBody = ({ createdAt, ...user }: User): operations.User => ({
  ...user,
  operator: user.role === 'operator',
  mappedOperator: user.mappedRole === 'operator',
  createdAt: dateTime(createdAt),
});

/** @throws Refusal `invalid_request` where a body says two things of one role */
function refuseTwoRoles({ operator, role }: operations.RoleFields): void {
  if (operator === undefined || role === undefined || (role === 'operator') === operator) return;
  throw new Refusal('invalid_request', `role: it is ${role}, and operator is ${String(operator)}; send one of them.`);
}

/** A link with its address: the token is in the fragment, which no browser sends. */
export const linkBody = ({ linkId, token, expiresAt }: MadeLink, panelUrl: string) => ({
  linkId,
  url: `${panelUrl}/link#${token.reveal()}`,
  expiresAt: dateTime(expiresAt),
});

/** @throws Refusal `invalid_request` where the panel is off */
function panelUrlOf({ panelUrl }: OperatorServices): string {
  const url = panelUrl();
  if (url === undefined) {
    throw new Refusal(
      'invalid_request',
      'The panel is off on this replica (MUSTER_PANEL_LISTEN): nobody could use a link.',
    );
  }
  return url;
}

/** POST /operator/v1/users. */
export const createUser = handle(operations.createUser)(async ({ origin, body }, services) => {
  const url = panelUrlOf(services);
  refuseTwoRoles(body);
  const { name, login, operator = false, role = operator ? 'operator' : 'none' } = body;
  const { user, link } = await services.links.forNewUser(origin, { name, login, role });
  return { status: 201, body: { user: userBody(user), link: linkBody(link, url) } };
});

const instantOf = (at: number | undefined): string | null => (at === undefined ? null : dateTime(at));

/** GET /operator/v1/users. */
export const listUsers = handle(operations.listUsers)(async (_request, { users, credentials }) => {
  const had = await credentials();
  const listed = (await users.list()).map((user) => {
    const held = had.get(user.userId) ?? NO_CREDENTIALS;
    return {
      ...userBody(user),
      ...held,
      apiKeysLastUsedAt: instantOf(held.apiKeysLastUsedAt),
      accessTokensLastUsedAt: instantOf(held.accessTokensLastUsedAt),
      sessionsLastUsedAt: instantOf(held.sessionsLastUsedAt),
      providerRefusedAt: instantOf(held.providerRefusedAt),
    };
  });
  return { status: 200, body: { users: listed } };
});

/** PATCH /operator/v1/users/{userId}; absent fields stay as they are. */
export const changeUser = handle(operations.changeUser)(async ({ origin, userId, body }, { users }) => {
  refuseTwoRoles(body);
  return { status: 200, body: userBody(await users.change(origin, userId, body)) };
});

/** DELETE /operator/v1/users/{userId}. */
export const deleteUser = handle(operations.deleteUser)(async ({ origin, userId, query }, { userDeletion }) => {
  await userDeletion.delete(origin, userId, query.keepKeys ?? []);
  return { status: 204 };
});

/** GET /operator/v1/users/{userId}/api-keys. */
export const listUserApiKeys = handle(operations.listUserApiKeys)(async ({ userId }, { madeKeys }) => ({
  status: 200,
  body: madeKeysBody(await madeKeys(userId)),
}));

/** @param withTokens false for a program with an access token, which is told of no others */
export const madeKeysBody = ({ apiKeys, accessTokens, ofNobodyKnown, more }: MadeKeyList, withTokens = true) => ({
  apiKeys: apiKeys.map(madeKeyBody),
  ...(withTokens && { accessTokens: accessTokens.map(tokenBody) }),
  ofNobodyKnown: ofNobodyKnown.map(madeKeyBody),
  more,
});

export const tokenBody = ({ createdAt, expiresAt, lastUsedAt, ...token }: ListedAccessToken) => ({
  ...token,
  createdAt: dateTime(createdAt),
  expiresAt: dateTime(expiresAt),
  lastUsedAt: lastUsedAt === undefined ? null : dateTime(lastUsedAt),
});

const madeKeyBody = ({ accountId, accountName, ...key }: MadeKeyList['apiKeys'][number]) => ({
  accountId,
  accountName,
  ...listedBody(key),
});

/** POST /operator/v1/users/{userId}/reset. */
export const resetUser = handle(operations.resetUser)(async ({ origin, userId }, services) => {
  const url = panelUrlOf(services);
  return { status: 201, body: linkBody(await services.links.forReset(origin, userId), url) };
});
