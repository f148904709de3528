import type { Page } from 'playwright-core';
import { press } from '../../browser/chromium.ts';
import { leaveSecret } from '../panel-browser.ts';

/* The forms and dialogs of the panel, with the way to each. */

export interface WalkedForm {
  readonly name: string;
  readonly file: string;
  /** Forms and dialogs of the file that this walk meets; one without it. */
  readonly covers?: number;
  readonly path?: string;
  readonly shows?: RegExp;
  readonly before?: (page: Page) => Promise<unknown>;
  /** The buttons that lead to it, one after the other. */
  readonly opens?: readonly (string | RegExp)[];
  /** A dialog: what has the focus when it opens. */
  readonly focus?: RegExp;
  /** The choice that opens a field in which something is missing. */
  readonly chooses?: string;
  /** The field that is emptied, where the form opens with nothing missing. */
  readonly empties?: string;
  /** The button that sends it; without one, nothing can be missing. */
  readonly sends?: string;
  /** The words that the field then shows; without them, those for a field that is needed. */
  readonly says?: RegExp;
  readonly after?: (page: Page) => Promise<unknown>;
  /** A page for those who are not signed in. */
  readonly door?: 'link' | 'sign-in';
}

const ACCOUNT = '/accounts/:accountId';
const TYPE_IT = /^Type “.+” to confirm\.$/;
const UNCHANGED = /^Nothing is changed yet\.$/;

const apps: readonly WalkedForm[] = [
  {
    name: 'new apps',
    file: 'web/pages/apps/create-apps.tsx',
    covers: 3,
    path: `${ACCOUNT}/apps?new=app`,
    shows: /edge-001/,
    focus: /^Name$/,
    empties: 'How many',
    sends: 'Create',
    says: /./,
  },
  {
    name: 'the code of a daemon',
    file: 'web/pages/apps/add-daemon.tsx',
    path: `${ACCOUNT}/apps?new=daemon`,
    shows: /edge-001/,
    before: (page) => page.getByRole('dialog').getByLabel('Name').fill('new'),
    opens: ['Get the code'],
    focus: /^Copy\s*: Command$/,
    after: leaveSecret,
  },
  {
    name: 'codes for the chosen apps',
    file: 'web/pages/apps/issue-codes.tsx',
    path: `${ACCOUNT}/apps`,
    shows: /edge-001/,
    before: (page) => press(page.getByLabel('Choose all that are shown')),
    opens: ['Issue codes'],
    focus: /^Cancel$/,
  },
  {
    name: 'many apps revoked',
    file: 'web/pages/apps/change-many.tsx',
    covers: 2,
    path: `${ACCOUNT}/apps`,
    shows: /edge-001/,
    before: (page) => press(page.getByLabel('Choose all that are shown')),
    opens: ['Revoke'],
    focus: TYPE_IT,
    sends: 'Revoke',
    says: TYPE_IT,
  },
  ...(
    [
      ['a new code', 'New code', /^Cancel$/],
      ['an app revoked', 'Revoke', /^Cancel$/],
    ] as const
  ).map(([name, opens, focus]) => ({
    name,
    file: 'web/pages/apps/app.tsx',
    path: `${ACCOUNT}/apps/:appId`,
    shows: /created an app/,
    opens: [opens],
    focus,
  })),
  {
    name: 'an app deleted',
    file: 'web/pages/apps/app.tsx',
    path: `${ACCOUNT}/apps/:appId`,
    shows: /created an app/,
    opens: ['Delete'],
    focus: TYPE_IT,
    sends: 'Delete',
    says: TYPE_IT,
  },
];

const configuration: readonly WalkedForm[] = [
  {
    name: 'the configuration, unchanged',
    file: 'web/pages/configuration/form.tsx',
    path: `${ACCOUNT}/configuration`,
    shows: /since the last purge/,
    sends: 'Review the change',
    says: UNCHANGED,
  },
  {
    name: 'a change of the configuration',
    file: 'web/pages/configuration/form.tsx',
    path: `${ACCOUNT}/configuration`,
    shows: /since the last purge/,
    before: (page) => page.getByLabel('Endpoint').fill('https://c.example.com'),
    opens: ['Review the change'],
    focus: /^Cancel$/,
  },
  {
    name: 'a purge',
    file: 'web/pages/configuration/configuration.tsx',
    path: `${ACCOUNT}/configuration`,
    shows: /since the last purge/,
    opens: ['Purge'],
    focus: TYPE_IT,
    sends: 'Purge',
    says: TYPE_IT,
  },
  {
    name: 'an earlier revision',
    file: 'web/pages/configuration/restore.tsx',
    covers: 2,
    path: `${ACCOUNT}/configuration`,
    shows: /since the last purge/,
    opens: [/^Restore revision/],
    focus: /./,
    chooses: 'Set a header',
    sends: 'Restore this revision',
  },
];

const keys: readonly WalkedForm[] = [
  {
    name: 'a new access token, and its secret',
    file: 'web/pages/me/create-token.tsx',
    covers: 2,
    path: '/me',
    shows: /Access tokens/,
    opens: ['Make an access token'],
    focus: /^Name$/,
    sends: 'Make',
  },
  {
    name: 'a new API key',
    file: 'web/pages/keys/create-key.tsx',
    covers: 2,
    path: `${ACCOUNT}/keys?new=key`,
    shows: /Last used/,
    focus: /^Name$/,
  },
  {
    name: 'a new API key without its date',
    file: 'web/pages/keys/create-key.tsx',
    covers: 0,
    path: `${ACCOUNT}/keys?new=key`,
    shows: /Last used/,
    before: (page) => page.getByRole('dialog').getByLabel('Expires').selectOption('On a date'),
    sends: 'Create',
    says: /^Choose a date\.$/,
  },
  {
    name: 'a rotated API key, and the new secret',
    file: 'web/pages/keys/rotate-key.tsx',
    covers: 2,
    path: `${ACCOUNT}/keys`,
    shows: /Last used/,
    opens: [/^Actions for /, 'Rotate'],
    focus: /^Keep the current secret valid$/,
    after: (page) => page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click(),
  },
  {
    name: 'the secret of a key',
    file: 'web/pages/keys/shown-secret.tsx',
    path: `${ACCOUNT}/keys?new=key`,
    shows: /Last used/,
    opens: [/^Create$/],
    // The first button copies the secret, and loses nothing.
    focus: /^Copy\s*: API key$/,
    after: leaveSecret,
  },
  {
    name: 'a key that expires sooner',
    file: 'web/pages/keys/expire-key.tsx',
    covers: 2,
    path: `${ACCOUNT}/keys`,
    shows: /Last used/,
    opens: [/^Actions for /, 'Expire sooner'],
    focus: /^Expires at$/,
    sends: 'Expire sooner',
    says: /^Say when the key expires\.$/,
  },
  {
    name: 'a key that is narrowed',
    file: 'web/pages/keys/narrow-key.tsx',
    covers: 2,
    path: `${ACCOUNT}/keys`,
    shows: /Last used/,
    opens: [/^Actions for /, 'Narrow'],
    focus: /^Access$/,
    sends: 'Narrow',
    says: UNCHANGED,
  },
  {
    name: 'a revoked key',
    file: 'web/pages/keys/keys.tsx',
    path: `${ACCOUNT}/keys`,
    shows: /Last used/,
    opens: [/^Actions for /, 'Revoke'],
    focus: /^Cancel$/,
  },
];

const people: readonly WalkedForm[] = [
  {
    name: 'an invitation',
    file: 'web/pages/members.tsx',
    covers: 3,
    path: `${ACCOUNT}/members?new=invitation`,
    shows: /Members/,
    focus: /^Role$/,
  },
  {
    name: 'an invitation with a long note',
    file: 'web/pages/members.tsx',
    covers: 0,
    path: `${ACCOUNT}/members?new=invitation`,
    shows: /Members/,
    before: (page) => page.getByRole('dialog').getByLabel('Note').fill('a'.repeat(201)),
    sends: 'Make the link',
    says: /^At most 200 characters\.$/,
  },
  {
    name: 'another role',
    file: 'web/pages/members.tsx',
    path: `${ACCOUNT}/members`,
    shows: /member@example\.com/,
    opens: [/^Make an owner/],
    focus: /^Cancel$/,
  },
  {
    name: 'a member removed',
    file: 'web/pages/members.tsx',
    path: `${ACCOUNT}/members`,
    shows: /member@example\.com/,
    opens: [/^Remove/],
    focus: /^Cancel$/,
  },
  {
    name: 'a new user',
    file: 'web/pages/operator/users.tsx',
    covers: 3,
    path: '/operator/users',
    shows: /member@example\.com/,
    opens: ['Create a user'],
    focus: /^Name$/,
    sends: 'Create',
  },
  {
    name: 'a user, disabled',
    file: 'web/pages/operator/manage-user.tsx',
    covers: 2,
    path: '/operator/users',
    shows: /member@example\.com/,
    opens: [/^Manage/, 'Disable'],
    focus: TYPE_IT,
    sends: 'Disable',
    says: TYPE_IT,
  },
  {
    name: 'the own name, unchanged',
    file: 'web/pages/me.tsx',
    path: '/me',
    shows: /this one/,
    sends: 'Save the name',
    says: UNCHANGED,
  },
  {
    name: 'another password',
    file: 'web/pages/me/password.tsx',
    path: '/me',
    shows: /this one/,
    sends: 'Set the password',
  },
  {
    name: 'a passkey without a name',
    file: 'web/pages/me/passkeys.tsx',
    path: '/me',
    shows: /this one/,
    empties: 'A name for the new one',
    sends: 'Add a passkey',
  },
];

const operators: readonly WalkedForm[] = [
  {
    name: 'a new account',
    file: 'web/pages/operator/accounts.tsx',
    covers: 2,
    path: '/operator/accounts',
    shows: /Acme Production/,
    opens: ['Create an account'],
    focus: /^Name$/,
    sends: 'Create an account',
  },
  ...(
    [
      ['the name of an account, emptied', 'Name', 'Save', /^This is needed\.$/],
      ['the quota of an account, emptied', 'Quota in MiB; 0 is none', 'Save', /^A whole number of MiB/],
      ['a consent to adopt an account', undefined, 'Allow it', /^This is needed\.$/],
    ] as const
  ).map(([name, empties, sends, says]) => ({
    name,
    file: 'web/pages/operator/account-settings.tsx',
    path: `${ACCOUNT}/settings`,
    shows: /Adoption by a FleetAccount/,
    ...(empties !== undefined && { empties }),
    sends,
    says,
  })),
  {
    name: 'an account disabled',
    file: 'web/pages/operator/account-settings.tsx',
    path: `${ACCOUNT}/settings`,
    shows: /Adoption by a FleetAccount/,
    opens: [/^Disable/],
    focus: TYPE_IT,
    sends: 'Disable the account',
    says: TYPE_IT,
  },
  {
    name: 'a consent to adopt an app',
    file: 'web/pages/operator/consents.tsx',
    covers: 2,
    path: `${ACCOUNT}/settings`,
    shows: /Adoption by a FleetAccount/,
    opens: [/^Change/],
    focus: /./,
    sends: 'Allow it',
  },
  {
    name: 'another key of the key file',
    file: 'web/pages/operator/encryption.tsx',
    path: '/operator/encryption',
    shows: /Active key/,
    opens: [/^Rotate/],
    focus: /^Cancel$/,
  },
];

const others: readonly WalkedForm[] = [
  {
    name: 'the audit verified',
    file: 'web/pages/audit/audit.tsx',
    path: `${ACCOUNT}/audit`,
    shows: /created an app/,
    opens: ['Verify the chain'],
    focus: /^Close$/,
  },
  {
    name: 'a note in the review queue',
    file: 'web/pages/reviews/review.tsx',
    covers: 2,
    path: `${ACCOUNT}/reviews`,
    shows: /secrets-in-prompt/,
    before: (page) => page.locator('article').first().press('n'),
    focus: /^Note$/,
  },
  {
    name: 'the search',
    file: 'web/shell/finder.tsx',
    before: (page) => page.keyboard.press('Control+k'),
    focus: /./,
  },
  {
    name: 'the keys of the panel',
    file: 'web/shell/key-sheet.tsx',
    before: (page) => page.keyboard.press('?'),
    focus: /./,
  },
  {
    name: 'the question before leaving',
    file: 'web/shell/leave-dialog.tsx',
    path: '/me',
    shows: /this one/,
    before: async (page) => {
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('typed');
      await press(page.getByRole('navigation').getByRole('link', { name: 'Users', exact: true }));
    },
    focus: /^Stay here$/,
  },
  {
    name: 'the proof of the person',
    file: 'web/shell/proof.tsx',
    covers: 2,
    path: '/me',
    shows: /this one/,
    before: (page) =>
      page.route(/\/passkeys\/options$/, async (route) => {
        const error = { code: 'proof_required', message: 'Prove who you are first.' };
        await route.fulfill({ status: 403, json: { error } });
      }),
    opens: ['Add a passkey'],
    focus: /^Your password$/,
    sends: 'Confirm',
  },
  { name: 'the sign-in', file: 'web/pages/door/sign-in.tsx', door: 'sign-in', sends: 'Sign in' },
  { name: 'a link to sign in first', file: 'web/pages/door/link.tsx', door: 'link', sends: 'Continue' },
];

export const FORMS: readonly WalkedForm[] = [...apps, ...configuration, ...keys, ...people, ...operators, ...others];

/** Those that need what is not here: they are `Confirm`, as others that are walked. */
export const ELSEWHERE: readonly Pick<WalkedForm, 'file' | 'covers'>[] = [
  // A token that is there (test/system/panel/keys/access-tokens.test.ts).
  { file: 'web/pages/me/access-tokens.tsx' },
  // A passkey.
  { file: 'web/pages/me/passkeys.tsx' },
  // A provider.
  { file: 'web/pages/me/provider.tsx' },
];
