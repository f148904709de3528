import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { INSTALLATION_ROLES } from '../../../domain/records/user-records.ts';
import { describedLogin, describedName, loginText, nameText } from '../../http/fields.ts';
import {
  accountId,
  closedBody,
  count,
  described,
  instant,
  instantOrNull,
  KEY_ID,
  linkId,
  listInQuery,
  named,
  userId,
} from '../fields.ts';
import { operation, READERS } from '../operation.ts';
import { listedKey } from './api-keys.ts';
import { listedToken } from './listed-token.ts';

/* The people who use the panel, as the platform team sees them. */

const name = described(
  nameText({ codePointsMax: LIMITS.userNameCodePointsMax }).min(1),
  describedName(`The name by which others see the user, 1 to ${LIMITS.userNameCodePointsMax} characters.`),
  'Ann Example',
);
const login = described(
  loginText({ codePointsMax: LIMITS.loginCharactersMax }),
  describedLogin('The name to sign in with, such as an e-mail address; unique, whatever its case and width.'),
  'ann@example.com',
);
const operator = described(
  z.boolean(),
  'Whether the user is an operator; `role` says the same, and the others.',
  false,
);
export const givenRole = named(
  'InstallationRole',
  z.enum([...INSTALLATION_ROLES, 'none']),
  'A role on the installation: `operator` may do everything, `support` reads, disables and revokes, `auditor` reads.',
  'none',
);
const disabled = described(z.boolean(), 'Whether the user is refused.', false);

/** The fields of a body that give a role. */
const roleFields = z.object({ operator: operator.optional(), role: givenRole.optional() });
export type RoleFields = z.infer<typeof roleFields>;

/** The keys that go on where a change takes the right away by which a person made them. */
export const keepKeys = described(
  z.array(z.string().regex(KEY_ID, 'must be the id of an API key')).max(LIMITS.keptKeysMax),
  'The ids of API keys that the user made and that go on; every other one ends where the user loses the right by which it was made.',
  ['n4c8r2w6y1z5'],
);
/** The same in a query, where a request has no body. */
export const keepKeysQuery = z.object({
  keepKeys: described(
    listInQuery(
      KEY_ID.source.slice(1, -1),
      LIMITS.keptKeysMax,
      `must be at most ${LIMITS.keptKeysMax} ids of API keys, separated by commas`,
    ),
    'The ids of API keys that the user made and that go on, separated by commas; every other one ends.',
    'n4c8r2w6y1z5',
  ).optional(),
});

const madeKey = listedKey
  .safeExtend({
    accountId,
    accountName: described(z.string(), 'The name of the account.', 'acme'),
  })
  .meta({ id: 'MadeApiKey', description: 'An API key with its account, without its text.' });

/** The living API keys of somebody who may go. */
export const madeKeys = z
  .object({
    apiKeys: described(
      z.array(madeKey),
      'The living keys that the user made, oldest first. Where `createdBy` is another one, the user knows the former secret alone, which ends in place of the key.',
      undefined,
    ),
    accessTokens: described(
      z.array(listedToken).optional(),
      'The living access tokens of the user, oldest first: they end with the role on their account. Absent where an access token asks.',
      undefined,
    ),
    ofNobodyKnown: described(
      z.array(madeKey),
      'Living keys of the accounts that the user owns, or of this account, of which nobody knows who made them: somebody with an operator’s token, a custom resource, or an earlier version. They go on.',
      undefined,
    ),
    more: described(z.boolean(), 'Whether there are more keys than these.', false),
  })
  .meta({ id: 'MadeApiKeys', description: 'The API keys that a user made.' });
export type MadeApiKeys = z.infer<typeof madeKeys>;

const user = z
  .object({
    userId,
    name: described(z.string(), 'The name by which others see the user.', 'Ann Example'),
    login: described(z.string(), 'The name to sign in with; empty where there is none.', 'ann@example.com'),
    createdAt: instant('When the user was made.'),
    disabled,
    operator,
    role: givenRole,
    mappedRole: givenRole,
    mappedOperator: described(z.boolean(), 'Whether the provider’s groups make the user an operator.', false),
    hasPassword: described(z.boolean(), 'Whether the user has a password.', true),
    passkeys: count('The number of passkeys.', 1),
    identities: count('The number of identities at the provider.', 0),
  })
  .meta({ id: 'User', description: 'A person who uses the panel.' });

export type User = z.infer<typeof user>;

const listedUser = user
  .safeExtend({
    apiKeys: count('The number of living API keys that the user made.', 2),
    apiKeysLastUsedAt: instantOrNull('When one of these was last used, at most 60 s behind; null where none was.'),
    accessTokens: count('The number of living access tokens of the user.', 1),
    accessTokensLastUsedAt: instantOrNull(
      'When one of these was last used, at most 5 minutes behind; null where none was.',
    ),
    sessions: count('The number of browsers in which the user is signed in.', 1),
    sessionsLastUsedAt: instantOrNull('When one of these was last used, at most 5 minutes behind; null without one.'),
    providerRefusedAt: instantOrNull(
      'When the provider refused to renew anything for a user whose API keys still work; null for others, and once the provider lets the user in again.',
    ),
  })
  .meta({
    id: 'ListedUser',
    description: 'A user with the credentials that the user has: API keys, access tokens and sessions.',
  });
export type ListedUser = z.infer<typeof listedUser>;

/** A link for a user, whose address is in this answer alone. */
const link = z
  .object({
    linkId,
    url: described(
      z.string(),
      'The address to send to the person, a secret: whoever opens it first is let in.',
      `https://muster.example.com/link#mst_link_operator_${'0'.repeat(43)}`,
    ),
    expiresAt: instant('When the link ends to be valid.'),
  })
  .meta({ id: 'UserLink', description: 'A link of a single use for a user.' });

export const createUser = operation({
  id: 'createUser',
  method: 'post',
  path: '/operator/v1/users',
  summary: 'Create a user',
  description:
    'Creates a user of the panel, with a link for the first sign-in that is valid for 72 hours. The answer alone has the link.',
  body: closedBody(z.object({ name, login, ...roleFields.shape }), {
    id: 'CreateUserRequest',
    description: 'A user to create.',
  }),
  errors: ['conflict'],
  exampleWithout: ['operator', 'role'],
  answers: [
    {
      status: 201,
      description: 'The user was created.',
      schema: z.object({ user, link }).meta({ id: 'CreatedUser', description: 'A new user with the first link.' }),
    },
  ],
  command: 'users create --name {name} --login {login}',
});

export const listUsers = operation({
  id: 'listUsers',
  method: 'get',
  path: '/operator/v1/users',
  roles: READERS,
  summary: 'List the users',
  description: `Lists the users of the panel by name, with their living API keys, access tokens and sessions, when these were last used, and whom the provider refused. There are at most ${LIMITS.usersMax}, so there are no pages.`,
  answers: [
    {
      status: 200,
      description: 'The users.',
      schema: z
        .object({ users: described(z.array(listedUser), 'The users, by name.', undefined) })
        .meta({ id: 'UserList', description: 'The users of the panel.' }),
    },
  ],
  command: 'users list',
});

export const changeUser = operation({
  id: 'changeUser',
  method: 'patch',
  path: '/operator/v1/users/:userId',
  roles: { support: [{ field: 'disabled', is: true }] },
  summary: 'Change a user',
  description:
    'Changes the fields that the body has. A disabled user is refused at once, on every replica. The last operator who can ' +
    'sign in stays one, and the last owner of an account who can sign in is not disabled. The API keys that the user made end ' +
    'with the right by which they were made, unless they are kept by name.',
  body: closedBody(
    z.object({
      name: name.optional(),
      disabled: disabled.optional(),
      ...roleFields.shape,
      keepKeys: keepKeys.optional(),
    }),
    { id: 'ChangeUserRequest', description: 'The fields to change.' },
  ),
  errors: ['conflict'],
  exampleWithout: ['disabled', 'operator', 'role', 'keepKeys'],
  answers: [{ status: 200, description: 'The user as he is now.', schema: user }],
  command: 'users update {userId} --name {name}',
});

export const deleteUser = operation({
  id: 'deleteUser',
  method: 'delete',
  path: '/operator/v1/users/:userId',
  summary: 'Delete a user',
  description:
    'Ends the memberships and the sessions of the user and removes all that is known of the user, at once and on every replica. The ' +
    'audits keep what the user did, by the id. The API keys that the user made end, unless they are kept by name. The last ' +
    'operator, and the last owner of an account, who can sign in stay. ' +
    'Whom a provider still lets in is a new user at the next sign-in. A deletion that failed in the middle has ended some ' +
    'memberships: repeated, it goes on.',
  query: keepKeysQuery,
  errors: ['invalid_request', 'conflict', 'changed_meanwhile'],
  answers: [{ status: 204, description: 'The user is deleted.' }],
  command: 'users delete {userId}',
});

export const listUserApiKeys = operation({
  id: 'listUserApiKeys',
  method: 'get',
  path: '/operator/v1/users/:userId/api-keys',
  roles: READERS,
  summary: 'List the API keys that a user made',
  description:
    'Lists the living API keys that the user made, on all accounts: they end when the user loses the right by which they were ' +
    'made, is disabled or deleted, unless they are kept by name.',
  answers: [{ status: 200, description: 'The keys.', schema: madeKeys }],
  command: 'users keys {userId}',
});

export const resetUser = operation({
  id: 'resetUser',
  method: 'post',
  path: '/operator/v1/users/:userId/reset',
  summary: 'Make a link that resets a user’s sign-in',
  description:
    'Makes a link that is valid for an hour, by which the user sets a new password; the passkeys of the user go, and all ' +
    'sessions end. Earlier links of the user are void at once. The answer alone has the link.',
  errors: ['invalid_request'],
  answers: [{ status: 201, description: 'The link.', schema: link }],
  command: 'users reset {userId}',
});
