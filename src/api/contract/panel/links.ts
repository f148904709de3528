import * as z from 'zod';
import { LINK_KINDS } from '../../../domain/records/user-records.ts';
import { accountId, closedBody, described, instant, linkId } from '../fields.ts';
import { operation } from '../operation.ts';
import { role, userName } from './me.ts';
import { newLogin, newPassword } from './sign-in.ts';

/* Links of a single use: a first sign-in, an invitation, a reset. Their token is in the fragment of the address. */

const token = described(
  z.string().max(200),
  'The token of the link, a secret: the part of its address after the `#`.',
  `mst_link_operator_${'0'.repeat(43)}`,
);
const kind = described(
  z.enum(LINK_KINDS),
  '`first` for the first sign-in of a user, `invitation` to an account, or `reset` of a password.',
  'invitation',
);

/** A link that was made: its address is in this answer alone. */
export const madeLink = z
  .object({
    linkId,
    url: described(
      z.string(),
      'The address to send to the person, a secret: whoever opens it first is let in.',
      `https://muster.example.com/link#mst_link_operator_${'0'.repeat(43)}`,
    ),
    expiresAt: instant('When the link ends to be valid.'),
  })
  .meta({ id: 'MadeLink', description: 'A link of a single use.' });

export type MadeLink = z.infer<typeof madeLink>;

const link = z
  .object({
    kind,
    expiresAt: instant('When the link ends to be valid.'),
    accountName: described(z.string(), 'The account of an invitation.', 'acme').optional(),
    role: role.optional(),
    login: described(z.string(), 'The login of the user whom the link is for.', 'ann@example.com').optional(),
    userName: described(z.string(), 'The name of that user.', 'Ann Example').optional(),
    signedInAs: described(
      z.string(),
      'The name of the user who is signed in, and may accept an invitation at once.',
      'Ann Example',
    ).optional(),
    needsLogin: described(z.boolean(), 'Whether a new user has to choose a name to sign in with.', true),
    needsPassword: described(z.boolean(), 'Whether a password has to be set.', true),
  })
  .meta({ id: 'Link', description: 'A link of a single use.' });
export type Link = z.infer<typeof link>;

export const readLink = operation({
  id: 'readLink',
  method: 'post',
  path: '/panel/v1/links/read',
  access: 'anyone',
  signsInBy: 'link',
  summary: 'Show what a link is for',
  description: 'Tells what the link gives, and to whom; it is not used up.',
  body: closedBody(z.object({ token }), { id: 'ReadLinkRequest', description: 'A link.' }),
  errors: ['invalid_request'],
  answers: [
    {
      status: 200,
      description: 'What the link is for.',
      schema: link,
      headers: ['Set-Cookie'],
    },
  ],
});

export const acceptLink = operation({
  id: 'acceptLink',
  method: 'post',
  path: '/panel/v1/links/accept',
  access: 'anyone',
  signsInBy: 'link',
  summary: 'Use a link',
  description:
    'Uses the link up: makes the user where it is for a new one, sets the password, makes the user a member, and begins a ' +
    'session. A signed-in user accepts an invitation as the user that he is.',
  body: closedBody(
    z.object({
      token,
      name: userName.optional(),
      login: newLogin.optional(),
      password: newPassword.optional(),
    }),
    { id: 'AcceptLinkRequest', description: 'A link, and what a new user needs.' },
  ),
  errors: ['invalid_request', 'second_factor_required', 'conflict', 'overloaded'],
  answers: [
    {
      status: 200,
      description: 'The link is used up, and the user is signed in.',
      schema: z
        .object({ accountId: accountId.optional() })
        .meta({ id: 'AcceptedLink', description: 'The account that the link leads to, if any.' }),
      headers: ['Set-Cookie'],
    },
  ],
});
