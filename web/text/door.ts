import { isolated } from '../../src/text/shown-name.ts';

/* Texts of the pages before one is signed in. */

export const door = {
  signIn: 'Sign in',
  login: 'Name',
  password: 'Password',
  waits: (seconds: number) =>
    `There were many attempts, at this name or from your network. Leave this page open: it goes on in about ${seconds} s.`,
  passkey: 'Sign in with a passkey',
  passkeyToo: 'You have a passkey: it is asked for as well.',
  passkeyAgain: 'Ask for the passkey again',
  passkeyFailed: 'The browser could not use the passkey: it was cancelled, or this browser has none for here.',
  passkeyThereAlready: 'This device holds one of your passkeys already: it needs no second one.',
  passkeyAtNumber:
    'Browsers use passkeys only where the address is a name. Open the panel by its name, such as localhost.',
  provider: (name: string) => `Sign in with ${isolated(name)}`,
  or: 'or',
  problems: {
    provider_unavailable: 'The provider does not answer. Try again in a moment.',
    provider_refused: 'The provider did not let you in, or its answer does not fit.',
    expired: 'The sign-in took too long, or was begun in another browser. Begin again.',
    groups_missing: 'The provider does not tell which groups you are in, so you get no roles here. Ask your operator.',
    groups_too_many: 'You are in more groups than can be taken. Ask your operator.',
    disabled: 'Your user is disabled. Ask your operator.',
    no_role:
      'Your groups give you no role here. Ask an owner for an invitation, open its link in this browser, and sign in again.',
    already_linked: 'This identity belongs to another user here.',
    proof_required:
      'The identity is not linked: it took more than 10 minutes since you proved who you are. Begin again.',
    second_factor_required: 'The identity is not linked: this installation asks for a second factor first.',
    too_many: 'There is no room for another user or identity. Ask your operator.',
  } as Readonly<Record<string, string>>,
  problem: 'The sign-in did not succeed. Try again.',
  whyLeft: {
    ended: 'Your session has ended: it was idle or open for too long, or it was ended elsewhere. Sign in to continue.',
    asked: 'Sign in to see the page that you opened.',
    'signed-out': 'You are signed out.',
  },
  stillSignedIn: (name: string) => `You are still signed in as ${isolated(name)}.`,
  back: 'Back to your sign-in',
  forgotten: 'Password forgotten, or the passkey lost? An operator makes you a link for a new one.',
  noPasskeys: 'Passkeys need https, and this browser has none for here.',
  link: {
    titles: {
      first: 'Welcome to Muster',
      invitation: (account: string) => `You are invited to ${account}`,
      reset: 'Set a new sign-in',
    },
    opening: 'Opening the link',
    first: (name: string) => `This is the first sign-in of ${isolated(name)}. The link works once.`,
    firstOperator:
      'With this link you become the first operator, who may do everything here and makes the other users. It works once.',
    invitation: {
      owner: 'You become an owner: you may change the account, its keys and its apps, and invite others.',
      viewer: 'You become a viewer: you may look at everything in the account, and change nothing.',
    },
    reset: (name: string) =>
      `This sets a new password for ${isolated(name)}, removes the passkeys and ends all sessions.`,
    as: (name: string) => `You are signed in as ${isolated(name)}, and accept it as this user.`,
    haveUser: 'If you have a user here already, sign in first, and then open the link again.',
    name: 'Your name',
    nameHint: 'By which others see you.',
    login: 'Name to sign in with',
    loginHint: 'Such as your e-mail address. Nothing is sent to it.',
    password: 'Password',
    passwordHint: 'At least 12 characters; a few words make a good one.',
    accept: 'Accept',
    enter: 'Continue',
    expires: 'The link is valid until',
    gone: 'This page was opened without a link, or was loaded again. Open the link once more as it was sent to you.',
    used: 'If you have used it already, you have a user:',
    invalid: 'This link does not work',
  },
};
