import * as z from 'zod';
import { MEMBER_ROLES } from '../../../domain/records/user-records.ts';
import { accountId, described, instant, instantOrNull, named, tokenId } from '../fields.ts';

const ROLE =
  'The most that the token may do on the account; it may never do more than its person at that moment. An owner may do all that a viewer may.';
export const expiresAt = instant('When the token ends to be valid.');
export const createdAt = instant('When the token was made.');
export const name = described(z.string(), 'The name for people.', 'rollout report');
export const tokenRole = named('AccessTokenRole', z.enum(MEMBER_ROLES), ROLE, 'viewer');

/** An access token, without its text, as every list shows it. */
export const listedToken = z
  .object({
    tokenId,
    name,
    accountId,
    accountName: described(z.string(), 'The name of the account.', 'acme'),
    role: tokenRole,
    createdAt,
    expiresAt,
    lastUsedAt: instantOrNull(
      'When a request was last authenticated by it, at most five minutes behind; null where none was.',
    ),
  })
  .meta({ id: 'AccessToken', description: 'An access token, without its text.' });

export type ListedAccessToken = z.infer<typeof listedToken>;
