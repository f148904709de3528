import * as z from 'zod';
import type { ApiKey, ListedApiKey } from '../../domain/accounts/api-keys.ts';
import { LIMITS } from '../../domain/limits.ts';
import { dateTime } from '../../time/date-time.ts';
import { text } from '../http/fields.ts';
import { route } from './route.ts';

const keyBody = ({ keyId, name, createdAt, expiresAt }: ApiKey) => ({
  keyId,
  name,
  createdAt: dateTime(createdAt),
  expiresAt: instantOrNull(expiresAt),
});
const listedBody = (key: ListedApiKey) => ({ ...keyBody(key), lastUsedAt: instantOrNull(key.lastUsedAt) });
const instantOrNull = (at: number | undefined): string | null => (at === undefined ? null : dateTime(at));

/** Of the years that a date has four digits for. */
const expiry = z.iso
  .datetime('must be a date and time in UTC, such as 2027-01-31T00:00:00.000Z')
  .transform((text) => Date.parse(text))
  .nullable()
  .default(null);

/** POST /operator/v1/accounts/{accountId}/api-keys: the only response that ever holds an API key. */
export const createApiKey = route({
  method: 'post',
  path: '/operator/v1/accounts/:accountId/api-keys',
  body: z.object({
    name: text({ codePointsMax: LIMITS.accountNameCodePointsMax }).default(''),
    expiresAt: expiry,
  }),
  async handle({ origin, accountId, body }, { apiKeys }) {
    const { name } = body;
    const created = await apiKeys.create(origin, accountId, { name, expiresAt: body.expiresAt ?? undefined });
    const { keyId, createdAt, expiresAt } = keyBody(created);
    return { status: 201, body: { keyId, name, apiKey: created.apiKey.reveal(), createdAt, expiresAt } };
  },
});

/** GET /operator/v1/accounts/{accountId}/api-keys. */
export const listApiKeys = route({
  method: 'get',
  path: '/operator/v1/accounts/:accountId/api-keys',
  async handle({ accountId }, { apiKeys }) {
    return { status: 200, body: { apiKeys: (await apiKeys.list(accountId)).map(listedBody) } };
  },
});

/** DELETE /operator/v1/accounts/{accountId}/api-keys/{keyId}. */
export const revokeApiKey = route({
  method: 'delete',
  path: '/operator/v1/accounts/:accountId/api-keys/:keyId',
  async handle({ origin, accountId, keyId }, { apiKeys }) {
    await apiKeys.revoke(origin, accountId, keyId);
    return { status: 204 };
  },
});
