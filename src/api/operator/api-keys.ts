import type { ApiKey, ListedApiKey } from '../../domain/accounts/listed-key.ts';
import { dateTime } from '../../time/date-time.ts';
import * as operations from '../contract/operator/api-keys.ts';
import { REPLAYED } from '../http/request-headers.ts';
import { handle } from './route.ts';

/** A key as every list shows it. */
export const listedBody = (key: ListedApiKey) => ({
  ...keyBody(key),
  formerExpiresAt: instantOrNull(key.formerExpiresAt),
  ...(key.createdBy !== undefined && { createdBy: key.createdBy }),
  ...(key.createdByName !== undefined && { createdByName: key.createdByName }),
  lastUsedAt: instantOrNull(key.lastUsedAt),
  calls7d: key.calls7d,
});
const keyBody = ({ keyId, name, createdAt, expiresAt, access, allowedCidrs }: ApiKey) => ({
  keyId,
  name,
  createdAt: dateTime(createdAt),
  expiresAt: instantOrNull(expiresAt),
  access,
  allowedCidrs: [...allowedCidrs],
});
const instantOrNull = (at: number | undefined): string | null => (at === undefined ? null : dateTime(at));

/** POST /operator/v1/accounts/{accountId}/api-keys: the only response that ever holds an API key, or its repetition. */
export const createApiKey = handle(operations.createApiKey)(async (
  { origin, accountId, body, idempotency },
  { apiKeys },
) => {
  const wanted = { ...body, expiresAt: body.expiresAt ?? undefined };
  const created = await apiKeys.create(origin, accountId, wanted, idempotency);
  return {
    status: 201,
    body: { ...keyBody(created), apiKey: created.apiKey.reveal() },
    headers: created.replayed ? REPLAYED : [],
  };
});

/** GET /operator/v1/accounts/{accountId}/api-keys. */
export const listApiKeys = handle(operations.listApiKeys)(async ({ accountId }, { apiKeys }) => ({
  status: 200,
  body: { apiKeys: (await apiKeys.list(accountId)).map(listedBody) },
}));

/** POST /operator/v1/accounts/{accountId}/api-keys/{keyId}/rotation: the only response that holds the new secret. */
export const rotateApiKey = handle(operations.rotateApiKey)(async (
  { origin, accountId, keyId, body, idempotency },
  { apiKeys },
) => {
  const { graceSeconds } = body;
  const rotated = await apiKeys.rotate(origin, accountId, { keyId, graceSeconds }, idempotency);
  return {
    status: 201,
    body: {
      ...keyBody(rotated),
      apiKey: rotated.apiKey.reveal(),
      formerExpiresAt: instantOrNull(rotated.formerExpiresAt),
    },
    headers: rotated.replayed ? REPLAYED : [],
  };
});

/** DELETE /operator/v1/accounts/{accountId}/api-keys/{keyId}/former-secret. */
export const endFormerSecret = handle(operations.endFormerSecret)(async (
  { origin, accountId, keyId, query },
  { apiKeys },
) => {
  await apiKeys.endFormer(origin, accountId, { keyId, ...query });
  return { status: 204 };
});

/** PATCH /operator/v1/accounts/{accountId}/api-keys/{keyId}. */
export const changeApiKey = handle(operations.changeApiKey)(
  async ({ origin, accountId, keyId, body }, { apiKeys }) => ({
    status: 200,
    body: listedBody(await apiKeys.change(origin, accountId, { keyId, ...body })),
  }),
);

/** DELETE /operator/v1/accounts/{accountId}/api-keys/{keyId}. */
export const revokeApiKey = handle(operations.revokeApiKey)(async ({ origin, accountId, keyId }, { apiKeys }) => {
  await apiKeys.revoke(origin, accountId, keyId);
  return { status: 204 };
});
