import * as z from 'zod';
import { accountId, appId, count, described, double, instant, instantOrNull, userId } from '../fields.ts';
import { operation, READERS } from '../operation.ts';
import { changeAccount, createAccount, listAccounts, readAccount } from '../operator/accounts.ts';
import { changeAccountApp, listAccountApps } from '../operator/apps.ts';
import { readBackup, readKeys, readRateLimits, rotateKeys } from '../operator/service.ts';
import { readUsage } from '../operator/usage.ts';
import { changeUser, createUser, deleteUser, listUserApiKeys, listUsers, resetUser } from '../operator/users.ts';
import { atPanel } from './derived.ts';
import { sessionList } from './me.ts';

/* What the platform team does besides: accounts, users, keys, and the state of the service. */

export const createPanelAccount = atPanel(createAccount, 'operator');
export const listPanelAccounts = atPanel(listAccounts, 'operator');
export const readPanelAccount = atPanel(readAccount, 'operator');
/** Access that is given back needs a proof as new access does; taking it away must not be held up. */
const ENABLED = { field: 'disabled', is: false } as const;
export const changePanelAccount = atPanel(changeAccount, 'operator', { freshProof: ['adoptableBy', ENABLED] });
export const listConsents = atPanel(listAccountApps, 'operator', {
  id: 'listConsents',
  path: '/panel/v1/accounts/:accountId/consents',
});
export const changeConsent = atPanel(changeAccountApp, 'operator', {
  id: 'changeConsent',
  path: '/panel/v1/accounts/:accountId/consents/:appId',
  freshProof: true,
});

export const readPanelLimits = atPanel(readRateLimits, 'operator');
export const readPanelKeys = atPanel(readKeys, 'operator');
export const rotatePanelKeys = atPanel(rotateKeys, 'operator', { freshProof: true });
export const readPanelUsage = atPanel(readUsage, 'operator');
const [backupAnswer] = readBackup.answers;
export const readPanelBackup = atPanel(readBackup, 'operator', {
  freshProof: true,
  answers: [{ ...backupAnswer, headers: ['Content-Disposition'] }],
});

export const createPanelUser = atPanel(createUser, 'operator', { freshProof: true });
export const listPanelUsers = atPanel(listUsers, 'operator');
export const changePanelUser = atPanel(changeUser, 'operator', { freshProof: ['operator', 'role', ENABLED] });
export const deletePanelUser = atPanel(deleteUser, 'operator');
export const listPanelUserKeys = atPanel(listUserApiKeys, 'operator');
export const resetPanelUser = atPanel(resetUser, 'operator', { freshProof: true });

export const listUserSessions = operation({
  id: 'listUserSessions',
  method: 'get',
  path: '/panel/v1/users/:userId/sessions',
  access: 'operator',
  roles: READERS,
  summary: 'List the sessions of a user',
  description: 'Lists the browsers in which the user is signed in.',
  answers: [{ status: 200, description: 'The sessions.', schema: sessionList }],
});

export const endUserSession = operation({
  id: 'endUserSession',
  method: 'delete',
  path: '/panel/v1/users/:userId/sessions/:sessionId',
  access: 'operator',
  roles: { support: true },
  summary: 'End a session of a user',
  description: 'Ends the session on every replica, at once.',
  answers: [{ status: 204, description: 'It has ended.' }],
});

const replica = z
  .object({
    replicaId: described(z.string(), 'The id of the replica.', 'f3b1c9d2a7e4'),
    version: described(z.string(), 'The version that it runs.', '1.0.0'),
    leader: described(z.boolean(), 'Whether it leads.', true),
    startedAt: instant('When it started, by its own clock.'),
    clockSkewMs: described(
      double.nullable(),
      'How far its clock is ahead of the clock of the replica that answers; null where it is not known.',
      3,
    ),
    self: described(z.boolean(), 'Whether it is the replica that answers.', true),
  })
  .meta({ id: 'Replica', description: 'A replica that lives.' });

const serviceState = z
  .object({
    version: described(z.string(), 'The version of the replica that answers.', '1.0.0'),
    store: described(z.enum(['sqlite', 'etcd']), 'The store.', 'etcd'),
    fullness: described(double.nullable(), 'How full the store is, 0 to 1; null where it cannot be told.', 0.1),
    accounts: count('The accounts.', 12),
    apps: count('The apps of all accounts.', 1200),
    users: count('The users of the panel.', 8),
    replicas: described(z.array(replica), 'The replicas that live.', undefined),
    leaderSince: instantOrNull('Since when the leader leads; null where there is none.'),
    nights: described(
      z.object({
        meteredThrough: described(z.string().nullable(), 'The last night that is metered.', '2026-01-30'),
        due: described(z.string(), 'The last night that has ended.', '2026-01-30'),
        month: described(z.string(), 'The month of the nights below.', '2026-01'),
        days: described(
          z.array(
            z.object({
              day: described(z.string(), 'The UTC day.', '2026-01-30'),
              activeDaemons: count('Active daemons of all accounts at its end.', 1100),
              late: described(z.boolean(), 'Metered more than an hour after its midnight.', false),
            }),
          ),
          'The nights of this month, in order.',
          undefined,
        ),
      }),
      'The last nights.',
      undefined,
    ),
    purges: described(
      z.object({
        waiting: count('Purges that the history of the store may still hold.', 0),
        oldestAt: instantOrNull('When the oldest of them was; null where there is none.'),
      }),
      'Purges that wait for the store to forget.',
      undefined,
    ),
    lastBackupAt: instantOrNull('The instant that the last whole backup holds; null where there was none.'),
  })
  .meta({ id: 'ServiceState', description: 'The state of the service.' });
export type ServiceState = z.infer<typeof serviceState>;

export const readServiceState = operation({
  id: 'readServiceState',
  method: 'get',
  path: '/panel/v1/service',
  access: 'operator',
  roles: READERS,
  summary: 'Show the state of the service',
  description: 'Shows the replicas, the last nights, purges that the store may still hold, and the last backup.',
  answers: [
    {
      status: 200,
      description: 'The state.',
      schema: serviceState,
    },
  ],
});

const foundName = described(z.string(), 'Its name; it may be empty.', 'edge-7');
const found = z
  .object({
    accounts: described(
      z.array(z.object({ accountId, name: described(z.string(), 'The name of the account.', 'acme') })),
      'The accounts, by name.',
      undefined,
    ),
    app: described(z.object({ accountId, appId, name: foundName }).nullable(), 'The app with this id.', undefined),
    user: described(z.object({ userId, name: foundName }).nullable(), 'The user with this id.', undefined),
  })
  .meta({ id: 'Found', description: 'What was found.' });
export type Found = z.infer<typeof found>;

/** What the panel shows of accounts that a user may open, for a search over all of them. */
export const findAccounts = operation({
  id: 'findAccounts',
  method: 'get',
  path: '/panel/v1/find',
  access: 'operator',
  roles: READERS,
  summary: 'Find an account or an app',
  description:
    'Finds accounts by a part of their name or by their id, and the account of an app or of an API key by its id.',
  query: z.object({
    text: described(z.string().trim().toLowerCase().min(1).max(200), 'What to look for.', 'acme'),
  }),
  answers: [
    {
      status: 200,
      description: 'At most 20 accounts.',
      schema: found,
    },
  ],
});
