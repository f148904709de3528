import { isolated } from '../../src/text/shown-name.ts';

/* Texts of the access tokens of the signed-in user. */

export const accessTokens = {
  title: 'Access tokens',
  lead: 'With one a program asks the panel’s API on one account, as you and with no more rights than you have at that moment.',
  create: 'Make an access token',
  none: 'You have no access tokens.',
  caption: 'The oldest first',
  columns: {
    name: 'Name',
    account: 'Account',
    role: 'Role',
    expires: 'Expires',
    lastUsed: 'Last used',
    actions: 'Actions',
  },
  revoke: 'Revoke',
  revokeOne: (name: string) => `Revoke the access token ${isolated(name)}`,
  revokeTitle: 'Revoke this access token?',
  revokeSays: 'Every request with it is refused from now on. This cannot be taken back.',
  revoked: 'The access token is revoked.',
  endingSays: 'These access tokens end with the person’s last role on their account:',
  dialog: {
    title: 'Make an access token',
    name: 'Name',
    nameHint: 'For you, such as the program that will use it.',
    account: 'Account',
    accountId: 'Id of the account',
    noAccounts: 'You are a member of no account that works.',
    role: 'Role',
    viewerSays: 'Reads everything of the account but secrets.',
    ownerSays: 'Also changes apps, configuration and reviews; what asks you for a proof it cannot do.',
    create: 'Make',
    made: 'The access token is made',
    token: 'Access token',
    command: 'Read the rollout with it',
    kept: 'Done',
  },
};
