import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { describedLogin, loginText, text } from '../../http/fields.ts';
import { closedBody, described } from '../fields.ts';
import { operation } from '../operation.ts';

/* The ways into the panel. All but a link need nothing of the store before they have succeeded. */

const login = described(
  text({ codePointsMax: LIMITS.loginCharactersMax }).min(1),
  'The name to sign in with, such as an e-mail address. Case and width make no difference.',
  'ann@example.com',
);
/** The name of a new user to sign in with. */
export const newLogin = described(
  loginText({ codePointsMax: LIMITS.loginCharactersMax }),
  describedLogin('The name to sign in with, such as an e-mail address.'),
  'ann@example.com',
);
/** A password as it is typed to sign in; whether it is good enough is judged where one is set. */
const password = described(
  z.string().min(1).max(LIMITS.passwordCharactersMax),
  `The password, at most ${LIMITS.passwordCharactersMax} characters.`,
  'correct horse battery staple',
);
/** A new password. */
export const newPassword = described(
  z.string().max(LIMITS.passwordCharactersMax),
  `A password of at least ${LIMITS.passwordCharactersMin} characters that is not easy to guess.`,
  'otter lamp quietly folds maps',
);

/** What WebAuthn exchanges with the browser; the library that judges it knows its shape. */
const webAuthn = z.looseObject({}).meta({ id: 'WebAuthn', description: 'An object of WebAuthn, as JSON.' });
export const webAuthnOptions = described(webAuthn, 'The options for the browser’s WebAuthn.', {});
export const webAuthnResponse = described(webAuthn, 'What the browser’s WebAuthn answered.', {});

const methods = z
  .object({
    password: described(z.boolean(), 'Whether people sign in with a password.', true),
    provider: described(
      z.string(),
      'The name of the provider; absent where there is none.',
      'single sign-on',
    ).optional(),
  })
  .meta({ id: 'SignInMethods', description: 'The ways to sign in.' });
export type SignInMethods = z.infer<typeof methods>;

export const readSignIn = operation({
  id: 'readSignIn',
  method: 'get',
  path: '/panel/v1/sign-in',
  access: 'anyone',
  summary: 'Show the ways to sign in',
  description: 'Tells which ways to sign in this installation has.',
  answers: [
    {
      status: 200,
      description: 'The ways to sign in.',
      schema: methods,
    },
  ],
});

const signedIn = z
  .object({
    next: described(
      z.enum(['signed-in', 'passkey']),
      '`passkey` where the user has one: it is asked for as well.',
      'signed-in',
    ),
    options: webAuthnOptions.optional(),
  })
  .meta({ id: 'SignInStep', description: 'What follows a step of a sign-in.' });

export type SignInStep = z.infer<typeof signedIn>;

export const signInByPassword = operation({
  id: 'signInByPassword',
  method: 'post',
  path: '/panel/v1/sign-in/password',
  access: 'anyone',
  signsInBy: 'password',
  summary: 'Sign in with a password',
  description:
    'Begins a session, or asks for a passkey where the user has one. After some failures at a name an attempt is told to ' +
    'wait, unless the user has signed in from this browser before. Whoever comes back as `Retry-After` says, with the ' +
    'cookie of that answer or from the same network, is judged before all who do not wait; one who comes earlier begins ' +
    'to wait anew.',
  body: closedBody(z.object({ login, password }), { id: 'PasswordSignIn', description: 'A login and its password.' }),
  errors: ['sign_in_failed', 'overloaded'],
  ticket: true,
  answers: [{ status: 200, description: 'The password is right.', schema: signedIn, headers: ['Set-Cookie'] }],
});

export const beginPasskeySignIn = operation({
  id: 'beginPasskeySignIn',
  method: 'post',
  path: '/panel/v1/sign-in/passkey/options',
  access: 'anyone',
  summary: 'Begin to sign in with a passkey',
  description: 'Gives the browser a challenge for any passkey of this installation.',
  body: closedBody(z.object({}), { id: 'PasskeyOptionsRequest', description: 'Nothing.' }),
  answers: [
    {
      status: 200,
      description: 'The challenge.',
      schema: z
        .object({ options: webAuthnOptions })
        .meta({ id: 'PasskeyOptions', description: 'The options of WebAuthn.' }),
      headers: ['Set-Cookie'],
    },
  ],
});

export const signInByPasskey = operation({
  id: 'signInByPasskey',
  method: 'post',
  path: '/panel/v1/sign-in/passkey',
  access: 'anyone',
  signsInBy: 'passkey',
  summary: 'Sign in with a passkey',
  description: 'Begins a session, by a passkey alone or after the password.',
  body: closedBody(z.object({ response: webAuthnResponse }), {
    id: 'PasskeySignIn',
    description: 'The answer of a passkey.',
  }),
  errors: ['sign_in_failed'],
  answers: [{ status: 200, description: 'A session has begun.', schema: signedIn, headers: ['Set-Cookie'] }],
});

const problem = 'Where it fails, the browser comes to the sign-in page, which says why.';

export const signInByProvider = operation({
  id: 'signInByProvider',
  method: 'get',
  path: '/panel/v1/sign-in/provider',
  access: 'anyone',
  summary: 'Sign in at the provider',
  description: `Leads the browser to the OpenID Connect provider. ${problem}`,
  errors: ['not_found'],
  answers: [{ status: 303, description: 'On to the provider.', headers: ['Location', 'Set-Cookie'] }],
});

export const endProviderSignIn = operation({
  id: 'endProviderSignIn',
  method: 'get',
  path: '/panel/v1/sign-in/provider/callback',
  access: 'anyone',
  signsInBy: 'provider',
  summary: 'Come back from the provider',
  description: `Takes the provider's answer, and begins a session or links the identity. ${problem}`,
  errors: ['not_found'],
  query: z.object({
    code: described(z.string(), 'The authorization code.', 'c0de').optional(),
    state: described(z.string(), 'The state that the panel gave.', 'st4te').optional(),
  }),
  answers: [{ status: 303, description: 'On to the panel.', headers: ['Location', 'Set-Cookie'] }],
});

export const signOutByProvider = operation({
  id: 'signOutByProvider',
  method: 'post',
  path: '/panel/v1/sign-in/provider/back-channel-logout',
  access: 'anyone',
  summary: 'End the sessions of an identity',
  description:
    'The provider calls this (OpenID Connect Back-Channel Logout 1.0): a form with a `logout_token`. It ends the ' +
    'sessions that began with the identity or with the provider’s session.',
  errors: ['not_found', 'invalid_request', 'payload_too_large', 'overloaded'],
  answers: [{ status: 200, description: 'The sessions have ended.', schema: z.object({}) }],
});
