import { isolated } from '../../src/text/shown-name.ts';

/* Texts of what asks a signed-in user to prove who they are. */

export const proof = {
  title: 'Prove that it is you',
  says: 'This can open a further way in. It needs a proof of the last 10 minutes, and goes on afterwards.',
  password: 'Your password',
  confirm: 'Confirm',
  passkey: 'Use a passkey',
  provider: (name: string) => `Sign in once more with ${isolated(name)}`,
  providerSays: 'A window opens for it.',
  none: 'You have neither a password nor a passkey. Sign out, sign in again, and add a passkey within 10 minutes.',
  blocked: 'The browser did not open the window. Allow it for this page, and try again.',
  done: 'Proved',
  doneSays: 'You can close this window.',
  failed: 'The proof failed',
  problems: {
    provider_unavailable: 'The provider does not answer. Try again in a moment.',
    provider_refused: 'The provider did not let you in, or its answer does not fit.',
    expired: 'The proof took too long, or was begun in another browser. Begin again.',
    other_identity: 'Somebody else is signed in at the provider. Sign in there as yourself.',
    proof_missing: 'The provider does not say when you signed in. Use a password or a passkey instead.',
  } as Readonly<Record<string, string>>,
  problem: 'The proof did not succeed. Try again.',
  secondFactor: 'Set up a second factor',
  secondFactorSays: 'This installation asks for a second factor. Add a passkey to go on.',
  secondFactorThere: 'This installation asks for a second factor. You have a passkey: use it to go on.',
};
