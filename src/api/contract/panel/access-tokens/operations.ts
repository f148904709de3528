import * as z from 'zod';
import { LIMITS } from '../../../../domain/limits.ts';
import { describedName, nameText } from '../../../http/fields.ts';
import { accountId, closedBody, described, givenInstant, tokenId } from '../../fields.ts';
import { operation } from '../../operation.ts';
import { createdAt, expiresAt, listedToken, name, tokenRole } from '../../operator/listed-token.ts';

/* The access tokens of the signed-in user, for programs that ask the panel's API as this person. */

const madeToken = z
  .object({
    tokenId,
    token: described(
      z.string().regex(/^mst_pat_[a-z0-9]{12}_[0-9A-Za-z]{49}$/),
      'The access token, a secret: keep it now.',
      `mst_pat_t7w3k9d2x5q8_${'0'.repeat(43)}1o1KE3`,
    ),
    name,
    accountId,
    role: tokenRole,
    createdAt,
    expiresAt,
  })
  .meta({ id: 'MadeAccessToken', description: 'A new access token with its text.' });

export type MadeAccessToken = z.infer<typeof madeToken>;

export const listAccessTokens = operation({
  id: 'listAccessTokens',
  method: 'get',
  path: '/panel/v1/me/access-tokens',
  access: 'signed-in',
  summary: 'List one’s own access tokens',
  description: 'Lists the living access tokens of the user, oldest first, without their text.',
  answers: [
    {
      status: 200,
      description: 'The tokens.',
      schema: z
        .object({ accessTokens: described(z.array(listedToken), 'The tokens, oldest first.', undefined) })
        .meta({ id: 'AccessTokenList', description: 'The access tokens of a user.' }),
    },
  ],
});

export const createAccessToken = operation({
  id: 'createAccessToken',
  method: 'post',
  path: '/panel/v1/me/access-tokens',
  access: 'signed-in',
  freshProof: true,
  uncompressed: true,
  summary: 'Make an access token',
  description:
    'Makes a token with which a program asks the panel’s API on one account, as this person and with no greater role: ' +
    '`Authorization: Bearer <token>`. The answer alone shows it. A person has at most ' +
    `${LIMITS.accessTokensPerUserMax}. It ends with its person, with the last role of the person on the account, and where it is revoked.`,
  body: closedBody(
    z.object({
      name: described(
        nameText({ codePointsMax: LIMITS.accessTokenNameCodePointsMax }).min(1),
        describedName(`A name for people, 1 to ${LIMITS.accessTokenNameCodePointsMax} characters.`),
        'rollout report',
      ),
      accountId,
      role: tokenRole,
      expiresAt: described(
        givenInstant.optional(),
        'When the token ends to be valid: in the future, and at most 365 days from now; 30 days from now without this.',
        '2027-01-31T00:00:00.000Z',
      ),
    }),
    { id: 'CreateAccessTokenRequest', description: 'An access token to make.' },
  ),
  // Every instant of an example is past some day, and would be refused.
  exampleWithout: ['expiresAt'],
  errors: ['not_found', 'conflict'],
  answers: [{ status: 201, description: 'The token was made.', schema: madeToken }],
});

export const revokeAccessToken = operation({
  id: 'revokeAccessToken',
  method: 'delete',
  path: '/panel/v1/me/access-tokens/:tokenId',
  access: 'signed-in',
  summary: 'Revoke one of one’s own access tokens',
  description: 'Ends the token on every replica, at once.',
  answers: [{ status: 204, description: 'It has ended.' }],
});
