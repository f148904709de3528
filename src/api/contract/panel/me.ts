import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { ADDITION_KINDS, MEMBER_ROLES, SIGN_IN_METHODS } from '../../../domain/records/user-records.ts';
import { describedName, nameText } from '../../http/fields.ts';
import { accountId, closedBody, count, described, entitlement, instant, sessionId, userId } from '../fields.ts';
import { operation } from '../operation.ts';
import { givenRole } from '../operator/users.ts';

/* The signed-in user: rights, sessions, and the end of this one. */

export const role = described(
  z.enum(MEMBER_ROLES),
  'The role on the account; an owner may do all that a viewer may.',
  'owner',
);
const othersSee = describedName('The name by which others see the user.');
export const userName = described(nameText({ codePointsMax: LIMITS.userNameCodePointsMax }), othersSee, 'Ann Example');
const ownName = described(nameText({ codePointsMax: LIMITS.userNameCodePointsMax }).min(1), othersSee, 'Ann Example');
const method = described(z.enum(SIGN_IN_METHODS), 'How the session began.', 'password');

const me = z
  .object({
    userId,
    name: described(z.string(), 'The name by which others see the user.', 'Ann Example'),
    login: described(z.string(), 'The name to sign in with; empty where there is none.', 'ann@example.com'),
    operator: described(z.boolean(), 'Whether the user is an operator.', false),
    role: givenRole,
    open: described(
      z.array(
        z.object({
          operation: described(z.string(), 'The id of the operation.', 'listUsers'),
          only: described(
            z.array(z.string()),
            'The fields that its body may have, with a value where only that one is allowed; absent where it may have all.',
            ['disabled: true'],
          ).optional(),
        }),
      ),
      'The operations that the role `support` or `auditor` may call, on every account; an operator may call all.',
      undefined,
    ),
    accounts: described(
      z.array(
        z.object({
          accountId,
          name: described(z.string(), 'The name of the account.', 'acme'),
          role,
          entitlement,
          disabled: described(z.boolean(), 'Whether the account is disabled.', false),
        }),
      ),
      'The accounts that the user is a member of, by name; an operator may open the others too.',
      undefined,
    ),
    methods: described(
      z.object({
        password: described(z.boolean(), 'Whether the user has a password.', true),
        passkeys: count('The number of passkeys.', 1),
        provider: described(z.boolean(), 'Whether the user has an identity at the provider.', false),
      }),
      'The ways in which the user can sign in.',
      undefined,
    ),
    additions: described(
      z.array(
        z.object({
          kind: described(
            z.enum(ADDITION_KINDS),
            'A passkey, an identity at the provider, or a sign-in from a browser that was not known.',
            'passkey',
          ),
          at: instant('When.'),
          name: described(z.string(), 'Of the passkey, the identity or the browser.', 'Laptop'),
          client: described(z.string(), 'The address of the client.', '198.51.100.7'),
        }),
      ),
      `What was added to the user’s ways in, the latest last, at most ${LIMITS.additionsKeptMax} of each kind; what can still be used stays.`,
      undefined,
    ),
    session: described(
      z.object({
        sessionId,
        createdAt: instant('When it began.'),
        expiresAt: instant('When it ends at the latest.'),
        method,
        secondFactorRequired: described(
          z.boolean(),
          'Whether the installation asks for a second factor that the session lacks: then the user adds a passkey, or proves by one.',
          false,
        ),
      }),
      'This session.',
      undefined,
    ),
  })
  .meta({ id: 'Me', description: 'The signed-in user.' });
export type Me = z.infer<typeof me>;

export const readMe = operation({
  id: 'readMe',
  method: 'get',
  path: '/panel/v1/me',
  access: 'signed-in',
  beforeSecondFactor: true,
  summary: 'Read the signed-in user',
  description:
    'Tells who is signed in, and which accounts that user may open. After a change of roles the session gets another token.',
  answers: [{ status: 200, description: 'The user.', schema: me, headers: ['Set-Cookie'] }],
});

export const changeMe = operation({
  id: 'changeMe',
  method: 'patch',
  path: '/panel/v1/me',
  access: 'signed-in',
  summary: 'Change one’s own name',
  description: 'Sets the name by which others see the user.',
  body: closedBody(z.object({ name: ownName }), { id: 'ChangeMeRequest', description: 'Another name.' }),
  answers: [{ status: 200, description: 'The user as he is now.', schema: me }],
});

export const signOut = operation({
  id: 'signOut',
  method: 'post',
  path: '/panel/v1/sign-out',
  access: 'signed-in',
  beforeSecondFactor: true,
  summary: 'Sign out',
  description: 'Ends this session on every replica, at once.',
  answers: [
    {
      status: 200,
      description: 'The session has ended.',
      schema: z
        .object({
          providerUrl: described(
            z.string(),
            'Where to sign out at the provider as well; absent where the session did not begin there.',
            'https://id.example.com/session/end',
          ).optional(),
        })
        .meta({ id: 'SignedOut', description: 'The end of a session.' }),
      headers: ['Set-Cookie'],
    },
  ],
});

const ownSession = z
  .object({
    sessionId,
    createdAt: instant('When it began.'),
    lastUsedAt: instant('When it was last used, at most five minutes behind.'),
    expiresAt: instant('When it ends at the latest.'),
    method,
    browser: described(z.string(), 'The browser in a few words.', 'Firefox on Linux'),
    current: described(z.boolean(), 'Whether it is this session.', true),
  })
  .meta({ id: 'Session', description: 'A session.' });
export type OwnSession = z.infer<typeof ownSession>;

/** The answer of every list of sessions. */
export const sessionList = z
  .object({ sessions: described(z.array(ownSession), 'The sessions, the one that was used last first.', undefined) })
  .meta({ id: 'Sessions', description: 'The sessions of a user.' });

const refusedSignIns = z
  .object({
    refused: described(
      z.array(
        z.object({
          at: instant('When the audit told of them: within seconds of the first, and once an hour for those after it.'),
          count: count('The number of failed attempts.', 3),
          clients: described(z.array(z.string()), 'The addresses that they came from, the latest five.', ['192.0.2.7']),
          ways: described(z.array(z.string()), 'The ways that were tried: password, passkey, link or provider.', [
            'password',
          ]),
        }),
      ),
      `The latest entries, at most ${LIMITS.refusedSignInsListedMax}, the newest first.`,
      undefined,
    ),
  })
  .meta({ id: 'RefusedSignIns', description: 'Failed attempts to sign in as a user.' });

export const listRefusedSignIns = operation({
  id: 'listRefusedSignIns',
  method: 'get',
  path: '/panel/v1/me/refused-sign-ins',
  access: 'signed-in',
  summary: 'List failed sign-ins',
  description: 'Tells who tried to sign in as the user, and was refused.',
  answers: [{ status: 200, description: 'The failed sign-ins.', schema: refusedSignIns }],
});

export const listMySessions = operation({
  id: 'listMySessions',
  method: 'get',
  path: '/panel/v1/me/sessions',
  access: 'signed-in',
  summary: 'List one’s own sessions',
  description: 'Lists the browsers in which the user is signed in.',
  answers: [{ status: 200, description: 'The sessions.', schema: sessionList }],
});

export const endMySession = operation({
  id: 'endMySession',
  method: 'delete',
  path: '/panel/v1/me/sessions/:sessionId',
  access: 'signed-in',
  summary: 'End one of one’s own sessions',
  description: 'Ends the session on every replica, at once.',
  answers: [{ status: 204, description: 'It has ended.' }],
});
