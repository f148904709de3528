import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { closedBody, described } from '../fields.ts';
import { operation } from '../operation.ts';
import { webAuthnOptions, webAuthnResponse } from './sign-in.ts';

/*
 * The signed-in user proves again who they are (A18): by what a sign-in would ask for. Each proof gives the browser
 * another session, and the one before ends.
 */

const PROOF = '/panel/v1/me/proof';
const proved = [
  { status: 204, description: 'The session is proved, under another token.', headers: ['Set-Cookie'] },
] as const;

export const readProof = operation({
  id: 'readProof',
  method: 'get',
  path: PROOF,
  access: 'signed-in',
  freshProof: true,
  beforeSecondFactor: true,
  summary: 'Ask whether the proof is fresh',
  description: 'Answers 204 where the session was proved in the last 10 minutes, and `proof_required` elsewhere.',
  answers: [{ status: 204, description: 'The proof is fresh.' }],
});

export const proveByPassword = operation({
  id: 'proveByPassword',
  method: 'post',
  path: `${PROOF}/password`,
  access: 'signed-in',
  beforeSecondFactor: true,
  summary: 'Prove by the password',
  description: 'Proves by the password who is signed in. A user who has a passkey proves by that.',
  body: closedBody(
    z.object({
      password: described(z.string().max(LIMITS.passwordCharactersMax), 'The password.', 'old horse battery'),
    }),
    { id: 'PasswordProof', description: 'The password of the signed-in user.' },
  ),
  errors: ['sign_in_failed', 'conflict', 'overloaded'],
  ticket: true,
  answers: proved,
});

export const beginPasskeyProof = operation({
  id: 'beginPasskeyProof',
  method: 'post',
  path: `${PROOF}/passkey/options`,
  access: 'signed-in',
  beforeSecondFactor: true,
  summary: 'Begin to prove by a passkey',
  description: 'Gives the browser a challenge for a passkey of the signed-in user.',
  body: closedBody(z.object({}), { id: 'BeginPasskeyProofRequest', description: 'Nothing.' }),
  errors: ['conflict'],
  answers: [
    {
      status: 200,
      description: 'The challenge.',
      schema: z
        .object({ options: webAuthnOptions })
        .meta({ id: 'PasskeyProofOptions', description: 'The options of WebAuthn.' }),
      headers: ['Set-Cookie'],
    },
  ],
});

export const proveByPasskey = operation({
  id: 'proveByPasskey',
  method: 'post',
  path: `${PROOF}/passkey`,
  access: 'signed-in',
  beforeSecondFactor: true,
  summary: 'Prove by a passkey',
  description: 'Proves by a passkey who is signed in.',
  body: closedBody(z.object({ response: webAuthnResponse }), {
    id: 'PasskeyProof',
    description: 'The answer of a passkey.',
  }),
  errors: ['sign_in_failed'],
  answers: proved,
});

export const proveByProvider = operation({
  id: 'proveByProvider',
  method: 'get',
  path: `${PROOF}/provider`,
  access: 'signed-in',
  beforeSecondFactor: true,
  summary: 'Prove at the provider',
  description:
    'Leads the browser to the OpenID Connect provider, which asks for a new sign-in (`prompt=login`, `max_age`). It comes ' +
    'back to the page `/proved`, which says what was missing where the proof failed.',
  errors: ['not_found'],
  answers: [{ status: 303, description: 'On to the provider.', headers: ['Location', 'Set-Cookie'] }],
});
