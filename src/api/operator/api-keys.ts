import type { ApiKey, ListedApiKey } from '../../domain/accounts/api-keys.ts';
import { dateTime } from '../../time/date-time.ts';
import * as operations from '../contract/operator/api-keys.ts';
import { REPLAYED } from '../http/request-headers.ts';
import { handle } from './route.ts';

/** A key as every list shows it. */
export const listedBody = (key: ListedApiKey) => ({
  ...keyBody(key),
  ...(key.createdBy !== undefined && { createdBy: key.createdBy }),
  ...(key.createdByName !== undefined && { createdByName: key.createdByName }),
  lastUsedAt: instantOrNull(key.lastUsedAt),
});
const keyBody = ({ keyId, name, createdAt, expiresAt }: ApiKey) => ({
  keyId,
  name,
  createdAt: dateTime(createdAt),
  expiresAt: instantOrNull(expiresAt),
});
const instantOrNull = (at: number | undefined): string | null => (at === undefined ? null : dateTime(at));

/** POST /operator/v1/accounts/{accountId}/api-keys: the only response that ever holds an API key, or its repetition. */
export const createApiKey = handle(operations.createApiKey)(async (
  { origin, accountId, body, idempotency },
  { apiKeys },
) => {
  const { name } = body;
  const wanted = { name, expiresAt: body.expiresAt ?? undefined };
  const created = await apiKeys.create(origin, accountId, wanted, idempotency);
  const { keyId, createdAt, expiresAt } = keyBody(created);
  return {
    status: 201,
    body: { keyId, name, apiKey: created.apiKey.reveal(), createdAt, expiresAt },
    headers: created.replayed ? REPLAYED : [],
  };
});

/** GET /operator/v1/accounts/{accountId}/api-keys. */
export const listApiKeys = handle(operations.listApiKeys)(async ({ accountId }, { apiKeys }) => ({
  status: 200,
  body: { apiKeys: (await apiKeys.list(accountId)).map(listedBody) },
}));

/** DELETE /operator/v1/accounts/{accountId}/api-keys/{keyId}. */
export const revokeApiKey = handle(operations.revokeApiKey)(async ({ origin, accountId, keyId }, { apiKeys }) => {
  await apiKeys.revoke(origin, accountId, keyId);
  return { status: 204 };
});
