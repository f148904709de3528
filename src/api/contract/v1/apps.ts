import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { text } from '../../http/fields.ts';
import { appId, appStatus, codeExpiry, described, enrollCode, instant, instantOrNull } from '../fields.ts';
import { operation } from '../operation.ts';

const name = described(
  z.string().max(LIMITS.nameCodePointsMax),
  `The name that the owner gave the app, at most ${LIMITS.nameCodePointsMax} characters; it need not be unique.`,
  'edge 1',
);
const reported = (description: string, example: string) =>
  described(z.string().max(LIMITS.deviceTextCharactersMax), description, example);

const app = z
  .object({
    appId,
    name,
    status: appStatus,
    platform: reported('The platform that the daemon reported; empty until it does.', 'linux/arm64'),
    agentVersion: reported('The version that the daemon reported; empty until it does.', '1.4.2'),
    lastSeenAt: instantOrNull('The last contact of the daemon, at most a minute behind; null where there was none.'),
    createdAt: instant('When the app was created.', '2026-01-30T12:00:00.000Z'),
  })
  .meta({ id: 'App', description: 'An app: one daemon of the account.' });

export type App = z.output<typeof app>;

const appList = z
  .object({ apps: described(z.array(app), 'The apps, oldest first.', undefined) })
  .meta({ id: 'AppList', description: 'The apps of an account.' });
export type AppList = z.output<typeof appList>;

/** Section 4.1. */
export const createApp = operation({
  id: 'createApp',
  method: 'post',
  path: '/v1/apps',
  keyUse: 'enroll',
  summary: 'Create an app',
  description:
    'Creates an app with its first enrollment code. Send an `Idempotency-Key` where an answer may be lost: for 24 hours ' +
    'the same key gets the same answer.',
  body: z
    .object({
      name: described(
        text({ codePointsMax: LIMITS.nameCodePointsMax }),
        `A name for people, at most ${LIMITS.nameCodePointsMax} characters; empty without it.`,
        'edge 1',
      ).optional(),
    })
    .meta({ id: 'CreateAppRequest', description: 'An app to create.' }),
  refuse: { name: 'invalid_name' },
  idempotency: { malformed: 'invalid_name', question: ({ name: given = '' }) => given },
  errors: ['limit_reached'],
  answers: [
    {
      status: 201,
      description: 'The app was created.',
      schema: z
        .object({
          appId,
          name,
          status: described(z.literal('pending'), 'A new app waits for its daemon.', 'pending'),
          enrollCode,
          enrollCodeExpiresAt: codeExpiry,
        })
        .meta({ id: 'CreatedApp', description: 'A new app with its enrollment code.' }),
      headers: ['Idempotency-Replayed'],
    },
  ],
  command: 'apps create --name {name}',
  panel: 'owner',
});

/** Section 4.2. */
export const listApps = operation({
  id: 'listApps',
  method: 'get',
  path: '/v1/apps',
  keyUse: 'read',
  summary: 'List the apps',
  description: `Lists all apps of the account, oldest first. An account has at most ${LIMITS.appsPerAccountMax}, so there are no pages.`,
  answers: [
    {
      status: 200,
      description: 'All apps of the account.',
      schema: appList,
    },
  ],
  command: 'apps list',
});

/** Section 4.3. */
export const readApp = operation({
  id: 'readApp',
  method: 'get',
  path: '/v1/apps/:appId',
  keyUse: 'read',
  summary: 'Read an app',
  description: 'Reads one app. An app of another account is 404 like one that does not exist.',
  answers: [{ status: 200, description: 'The app.', schema: app }],
  command: 'apps get {appId}',
});

/** Section 4.4. */
export const issueEnrollCode = operation({
  id: 'issueEnrollCode',
  method: 'post',
  path: '/v1/apps/:appId/enroll-code',
  keyUse: 'enroll',
  summary: 'Issue an enrollment code',
  description:
    `Issues a further code, in every status of the app. An app has at most ${LIMITS.openCodesPerAppMax} open codes: ` +
    'a further one voids the oldest. A daemon that enrolls with it brings a revoked app back.',
  idempotency: { malformed: 'ignored', question: () => '' },
  answers: [
    {
      status: 201,
      description: 'The code was issued.',
      schema: z
        .object({ enrollCode, expiresAt: codeExpiry })
        .meta({ id: 'IssuedEnrollCode', description: 'An enrollment code.' }),
      headers: ['Idempotency-Replayed'],
    },
  ],
  command: 'apps code {appId}',
  panel: 'owner',
});

/** Section 4.5. */
export const revokeApp = operation({
  id: 'revokeApp',
  method: 'post',
  path: '/v1/apps/:appId/revoke',
  summary: 'Revoke an app',
  description:
    'Cuts the daemon off and voids the open codes of the app, in every status. A repetition changes nothing.',
  answers: [
    {
      status: 200,
      description: 'The app is revoked: its daemon is refused from now on.',
      schema: z
        .object({ appId, status: described(z.literal('revoked'), 'The status from now on.', 'revoked') })
        .meta({ id: 'RevokedApp', description: 'A revoked app.' }),
    },
  ],
  command: 'apps revoke {appId}',
  panel: 'owner',
  roles: { support: true },
});

/** Section 4.6. */
export const deleteApp = operation({
  id: 'deleteApp',
  method: 'delete',
  path: '/v1/apps/:appId',
  summary: 'Delete an app',
  description: 'Removes the app with all that belongs to it; the audit stays. Its daemon is refused from now on.',
  answers: [{ status: 204, description: 'The app is gone.' }],
  command: 'apps delete {appId} --yes',
  panel: 'owner',
});
