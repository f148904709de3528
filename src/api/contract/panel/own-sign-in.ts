import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { describedName, nameText } from '../../http/fields.ts';
import { closedBody, described, identityId, instant, instantOrNull, passkeyId } from '../fields.ts';
import { operation } from '../operation.ts';
import { newPassword, webAuthnOptions, webAuthnResponse } from './sign-in.ts';

/* The ways in which the signed-in user himself signs in. */

const ME = '/panel/v1/me';

export const changePassword = operation({
  id: 'changePassword',
  method: 'put',
  path: `${ME}/password`,
  access: 'signed-in',
  freshProof: true,
  summary: 'Set one’s own password',
  description:
    'Sets another password. The one so far is needed where there is one. All other sessions end, this one goes on under another ' +
    'token, and with the old password go the passkeys ' +
    'and identities that are named; those that are gone already are passed over.',
  body: closedBody(
    z.object({
      current: described(
        z.string().max(LIMITS.passwordCharactersMax),
        'The password so far.',
        'old horse battery',
      ).optional(),
      password: newPassword,
      removePasskeys: described(
        z.array(passkeyId).max(LIMITS.passkeysPerUserMax),
        'The passkeys to remove.',
        undefined,
      ).optional(),
      unlinkIdentities: described(
        z.array(identityId).max(LIMITS.identitiesPerUserMax),
        'The identities at the provider to unlink.',
        undefined,
      ).optional(),
    }),
    { id: 'ChangePasswordRequest', description: 'The old password and the new one, and what goes with the old one.' },
  ),
  errors: ['sign_in_failed', 'overloaded'],
  ticket: true,
  answers: [{ status: 204, description: 'The new password works.', headers: ['Set-Cookie'] }],
});

const passkey = z
  .object({
    passkeyId,
    name: described(z.string(), 'The name that the user gave it.', 'Laptop'),
    createdAt: instant('When it was added.'),
  })
  .meta({ id: 'Passkey', description: 'A passkey of a user.' });

export type Passkey = z.infer<typeof passkey>;

export const listPasskeys = operation({
  id: 'listPasskeys',
  method: 'get',
  path: `${ME}/passkeys`,
  access: 'signed-in',
  beforeSecondFactor: true,
  summary: 'List one’s own passkeys',
  description: 'Lists the passkeys of the signed-in user.',
  answers: [
    {
      status: 200,
      description: 'The passkeys.',
      schema: z
        .object({ passkeys: described(z.array(passkey), 'The passkeys, oldest first.', undefined) })
        .meta({ id: 'PasskeyList', description: 'The passkeys of a user.' }),
    },
  ],
});

export const beginPasskey = operation({
  id: 'beginPasskey',
  method: 'post',
  path: `${ME}/passkeys/options`,
  access: 'signed-in',
  freshProof: 'or-new-sign-in',
  beforeSecondFactor: true,
  summary: 'Begin to add a passkey',
  description: 'Gives the browser a challenge for a new passkey.',
  body: closedBody(z.object({}), { id: 'BeginPasskeyRequest', description: 'Nothing.' }),
  answers: [
    {
      status: 200,
      description: 'The challenge.',
      schema: z
        .object({ options: webAuthnOptions })
        .meta({ id: 'NewPasskeyOptions', description: 'The options of WebAuthn.' }),
      headers: ['Set-Cookie'],
    },
  ],
});

export const addPasskey = operation({
  id: 'addPasskey',
  method: 'post',
  path: `${ME}/passkeys`,
  access: 'signed-in',
  freshProof: 'or-new-sign-in',
  beforeSecondFactor: true,
  summary: 'Add a passkey',
  description:
    `Adds the passkey that the browser made; a user has at most ${LIMITS.passkeysPerUserMax}. From then on a sign-in with ` +
    'the password asks for one as well.',
  body: closedBody(
    z.object({
      name: described(
        nameText({ codePointsMax: LIMITS.userNameCodePointsMax }),
        describedName('A name to tell it apart.'),
        'Laptop',
      ),
      response: webAuthnResponse,
    }),
    { id: 'AddPasskeyRequest', description: 'A new passkey.' },
  ),
  errors: ['conflict'],
  answers: [{ status: 201, description: 'The passkey can be used.', schema: passkey, headers: ['Set-Cookie'] }],
});

export const removePasskey = operation({
  id: 'removePasskey',
  method: 'delete',
  path: `${ME}/passkeys/:passkeyId`,
  access: 'signed-in',
  freshProof: true,
  summary: 'Remove a passkey',
  description: 'Removes a passkey, and gives the session another token. The last way to sign in stays.',
  errors: ['conflict'],
  answers: [{ status: 204, description: 'The passkey works no more.', headers: ['Set-Cookie'] }],
});

const linkedIdentity = z
  .object({
    identityId,
    name: described(z.string(), 'The name that the provider gave, or its subject.', 'Ann Example'),
    issuer: described(z.string(), 'The provider.', 'https://id.example.com'),
    linkedAt: instantOrNull('When it was linked; null where the user was made by it.'),
  })
  .meta({ id: 'LinkedIdentity', description: 'An identity at a provider.' });
export type LinkedIdentity = z.infer<typeof linkedIdentity>;

export const listIdentities = operation({
  id: 'listIdentities',
  method: 'get',
  path: `${ME}/identities`,
  access: 'signed-in',
  summary: 'List one’s own identities at the provider',
  description: 'Lists the identities that sign the user in.',
  answers: [
    {
      status: 200,
      description: 'The identities.',
      schema: z
        .object({ identities: described(z.array(linkedIdentity), 'The identities, oldest first.', undefined) })
        .meta({ id: 'LinkedIdentities', description: 'The identities of a user.' }),
    },
  ],
});

export const linkProvider = operation({
  id: 'linkProvider',
  method: 'post',
  path: `${ME}/provider`,
  access: 'signed-in',
  freshProof: true,
  summary: 'Link one’s identity at the provider',
  description:
    'Gives the address at the provider to which the browser goes on. The identity that signs in there becomes the user’s.',
  body: closedBody(z.object({}), { id: 'LinkProviderRequest', description: 'Nothing.' }),
  errors: ['invalid_request', 'not_found'],
  answers: [
    {
      status: 200,
      description: 'Where to go on.',
      schema: z
        .object({ url: described(z.string(), 'The address at the provider.', 'https://id.example.com/authorize') })
        .meta({ id: 'ProviderAddress', description: 'Where to go on.' }),
      headers: ['Set-Cookie'],
    },
  ],
});

export const unlinkProvider = operation({
  id: 'unlinkProvider',
  method: 'delete',
  path: `${ME}/provider`,
  access: 'signed-in',
  freshProof: true,
  summary: 'Unlink one’s identities at the provider',
  description:
    'Removes the identities and the roles that came with them, and gives the session another token. The last way to sign in stays.',
  errors: ['conflict'],
  answers: [{ status: 204, description: 'The identities lead to this user no more.', headers: ['Set-Cookie'] }],
});
