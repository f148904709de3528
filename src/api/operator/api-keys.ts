import * as z from 'zod';
import type { ApiKey } from '../../domain/accounts/api-keys.ts';
import { LIMITS } from '../../domain/limits.ts';
import { dateTime } from '../../time/date-time.ts';
import { text } from '../http/fields.ts';
import { route } from './route.ts';

const keyBody = ({ keyId, name, createdAt }: ApiKey): { keyId: string; name: string; createdAt: string } => ({
  keyId,
  name,
  createdAt: dateTime(createdAt),
});

/** POST /operator/v1/accounts/{accountId}/api-keys: the only response that ever holds an API key. */
export const createApiKey = route({
  method: 'post',
  path: '/operator/v1/accounts/:accountId/api-keys',
  body: z.object({ name: text({ codePointsMax: LIMITS.accountNameCodePointsMax }).default('') }),
  async handle({ origin, accountId, body }, { apiKeys }) {
    const created = await apiKeys.create(origin, accountId, body.name);
    const { keyId, name, createdAt } = keyBody(created);
    return { status: 201, body: { keyId, name, apiKey: created.apiKey.reveal(), createdAt } };
  },
});

/** GET /operator/v1/accounts/{accountId}/api-keys. */
export const listApiKeys = route({
  method: 'get',
  path: '/operator/v1/accounts/:accountId/api-keys',
  async handle({ accountId }, { apiKeys }) {
    return { status: 200, body: { apiKeys: (await apiKeys.list(accountId)).map(keyBody) } };
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
