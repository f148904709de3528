import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { KEY_ACCESSES } from '../../../domain/records/key-access.ts';
import { CIDR, cidrFault } from '../../../text/ip-addresses.ts';
import { describedName, nameText } from '../../http/fields.ts';
import { closedBody, count, described, givenInstant, instant, instantOrNull, keyId, named } from '../fields.ts';
import { operation, READERS } from '../operation.ts';

const name = described(z.string(), 'The name for people.', 'ci');
const createdAt = instant('When the key was created.');
const expiresAt = instantOrNull('When the key ends to be valid; null where it does not.', '2027-01-31T00:00:00.000Z');

const formerExpiresAt = instantOrNull(
  'When the secret before the last rotation ends; null where none works beside the present one.',
  '2026-02-01T09:30:00.000Z',
);

const apiKeyText = described(
  z.string().regex(/^mst_live_[a-z0-9]{12}_[0-9A-Za-z]{49}$/),
  'The key, a secret: keep it now.',
  `mst_live_n4c8r2w6y1z5_${'0'.repeat(43)}1jxTqE`,
);

const accessText =
  '`full`: everything that the account may do by `/v1`. `read`: reads the apps and the configuration. `enroll`: creates ' +
  'apps, and issues codes for apps that it created itself and that are pending.';
const access = named('KeyAccess', z.enum(KEY_ACCESSES), accessText, 'full');
const cidrsText = 'The ranges of addresses, in CIDR notation, from which it may be used; all without any.';
const allowedCidrs = described(z.array(z.string()), cidrsText, []);

const givenCidrs = z
  .array(
    z
      .string()
      .max(CIDR.charactersMax)
      .check((ctx) => {
        const message = cidrFault(ctx.value);
        if (message !== undefined) ctx.issues.push({ code: 'custom', message, input: undefined });
      })
      .meta({ pattern: CIDR.pattern }),
  )
  .max(LIMITS.keyCidrsMax);

const createdKey = z
  .object({
    keyId,
    name,
    apiKey: apiKeyText,
    createdAt,
    expiresAt,
    access,
    allowedCidrs,
  })
  .meta({ id: 'CreatedApiKey', description: 'A new API key with its text.' });

const newKey = closedBody(
  z.object({
    name: described(
      nameText({ codePointsMax: LIMITS.accountNameCodePointsMax }).default(''),
      describedName(`A name for people, at most ${LIMITS.accountNameCodePointsMax} characters; empty without it.`),
      'ci',
    ),
    expiresAt: described(
      givenInstant.nullable().default(null),
      'When the key ends to be valid, in the future; it does not expire without this.',
      '2027-01-31T00:00:00.000Z',
    ),
    access: described(access.default('full'), `What it may do; \`full\` without this. ${accessText}`, 'full'),
    allowedCidrs: described(givenCidrs.default([]), cidrsText, []),
  }),
  { id: 'CreateApiKeyRequest', description: 'An API key to create.' },
);

/** The question of earlier versions, for a key that they had, too: their answers are kept. */
const question = (body: z.output<typeof newKey>): string => {
  const { name: wanted, expiresAt: end, access: may, allowedCidrs: from } = body;
  return JSON.stringify(may === 'full' && from.length === 0 ? [wanted, end] : [wanted, end, may, from]);
};

export const createApiKey = operation({
  id: 'createApiKey',
  method: 'post',
  path: '/operator/v1/accounts/:accountId/api-keys',
  summary: 'Create an API key',
  description:
    `Creates an API key of the account, which has at most ${LIMITS.apiKeysPerAccountMax}. No other answer shows the key, ` +
    'but a repetition: for 24 hours the same `Idempotency-Key` gets the same answer.',
  body: newKey,
  // Every instant of an example is past some day, and would be refused.
  exampleWithout: ['expiresAt'],
  idempotency: { malformed: 'invalid_request', question },
  answers: [
    {
      status: 201,
      description: 'The key was created.',
      schema: createdKey,
      headers: ['Idempotency-Replayed'],
    },
  ],
  command: 'api-keys create --account {accountId} --name {name}',
});

/** An API key, without its text, as every list shows it. */
export const listedKey = z
  .object({
    keyId,
    name,
    createdAt,
    expiresAt,
    access,
    allowedCidrs,
    formerExpiresAt,
    createdBy: described(
      z.string(),
      'Who made its secret, as the audit names actors: created it, or rotated it last; absent for keys of earlier versions.',
      'operator',
    ).optional(),
    createdByName: described(
      z.string(),
      'The name of the creator now; absent where there is none any more.',
      'operator',
    ).optional(),
    lastUsedAt: instantOrNull(
      'When a request was last authenticated by it, at most a minute behind; null where none was.',
    ),
    calls7d: count(
      'The requests that it authenticated today and on the six days before, in UTC, refused ones too; about ten ' +
        'minutes behind.',
      420,
    ),
  })
  .meta({ id: 'ApiKey', description: 'An API key, without its text.' });
export type ListedApiKey = z.infer<typeof listedKey>;

export const listApiKeys = operation({
  id: 'listApiKeys',
  method: 'get',
  path: '/operator/v1/accounts/:accountId/api-keys',
  roles: READERS,
  summary: 'List the API keys',
  description: 'Lists the keys of the account, oldest first, without their text.',
  answers: [
    {
      status: 200,
      description: 'All keys of the account.',
      schema: z
        .object({
          apiKeys: described(z.array(listedKey), 'The keys, oldest first.', undefined),
        })
        .meta({ id: 'ApiKeyList', description: 'The API keys of an account.' }),
    },
  ],
  command: 'api-keys list --account {accountId}',
});

const rotatedKey = z
  .object({ keyId, name, apiKey: apiKeyText, createdAt, expiresAt, access, allowedCidrs, formerExpiresAt })
  .meta({ id: 'RotatedApiKey', description: 'An API key with the text of its new secret.' });

export const rotateApiKey = operation({
  id: 'rotateApiKey',
  method: 'post',
  path: '/operator/v1/accounts/:accountId/api-keys/:keyId/rotation',
  summary: 'Rotate an API key',
  description:
    'Gives the key another secret; its id stays. The secret before it works on for `graceSeconds`, or until the key ' +
    'expires. One former secret works at most: the one before that ends with the answer. Revoking the key ends all of ' +
    'them at once. No other answer shows the secret, but a repetition: for 24 hours the same `Idempotency-Key` gets the ' +
    'same answer. A key that has expired is not rotated.',
  body: closedBody(
    z.object({
      graceSeconds: described(
        z.int().min(0).max(LIMITS.keyGraceSecondsMax).default(LIMITS.keyGraceSeconds),
        `How long the secret before it works on, in seconds; ${LIMITS.keyGraceSeconds} without it, and 0: it ends at once.`,
        3600,
      ),
    }),
    { id: 'RotateApiKeyRequest', description: 'The rotation of an API key.' },
  ),
  errors: ['conflict'],
  idempotency: { malformed: 'invalid_request', question: (body) => JSON.stringify([body.graceSeconds]) },
  answers: [
    {
      status: 201,
      description: 'The key has another secret.',
      schema: rotatedKey,
      headers: ['Idempotency-Replayed'],
    },
  ],
  command: 'api-keys rotate {keyId} --account {accountId} --grace 1h',
});

export const endFormerSecret = operation({
  id: 'endFormerSecret',
  method: 'delete',
  path: '/operator/v1/accounts/:accountId/api-keys/:keyId/former-secret',
  roles: { support: true },
  summary: 'End the overlap of a rotation',
  description:
    'Ends the secret before the last rotation, sooner than its grace: every request with it that begins after the answer ' +
    'is refused. The key goes on with its present secret. Where no former secret works, or another one since, the answer is 404.',
  query: z.object({
    formerExpiresAt: described(
      givenInstant,
      'The end of the former secret, as the list of keys has it: it names the secret.',
      '2099-01-31T00:00:00.000Z',
    ),
  }),
  answers: [{ status: 204, description: 'The former secret has ended.' }],
  command: 'api-keys end-overlap {keyId} --account {accountId} --yes',
});

export const changeApiKey = operation({
  id: 'changeApiKey',
  method: 'patch',
  path: '/operator/v1/accounts/:accountId/api-keys/:keyId',
  roles: { support: true },
  summary: 'Let an API key do less',
  description:
    'Lets the key end at an earlier instant than its own, and its former secret no later; gives it less access, or fewer ' +
    'addresses. What the body leaves out stays. Every request that begins after the answer is held to it. A change by ' +
    'which the key could do more is refused, and so is any of a key that has expired.',
  body: closedBody(
    z.object({
      expiresAt: described(
        givenInstant.optional(),
        'When the key ends to be valid, in the future.',
        '2099-01-31T00:00:00.000Z',
      ),
      access: described(access.optional(), `What it may do from now on. ${accessText}`, 'read'),
      allowedCidrs: described(givenCidrs.optional(), cidrsText, ['192.0.2.0/24']),
    }),
    { id: 'ChangeApiKeyRequest', description: 'What an API key is to be from now on.' },
  ),
  errors: ['conflict'],
  answers: [{ status: 200, description: 'The key as it is now.', schema: listedKey }],
  command: 'api-keys update {keyId} --account {accountId} --access {access}',
});

export const revokeApiKey = operation({
  id: 'revokeApiKey',
  method: 'delete',
  path: '/operator/v1/accounts/:accountId/api-keys/:keyId',
  roles: { support: true },
  summary: 'Revoke an API key',
  description: 'Revokes the key, with its former secret: every request that begins after the answer is refused.',
  answers: [{ status: 204, description: 'The key is revoked.' }],
  command: 'api-keys revoke {keyId} --account {accountId} --yes',
});
