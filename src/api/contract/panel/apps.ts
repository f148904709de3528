import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { appId, described, count, instant, instantOrNull } from '../fields.ts';
import { operation } from '../operation.ts';

/* The panel shows the apps of an account by these operations; what it does with them is of `/v1`. */

const ACCOUNT = '/panel/v1/accounts/:accountId';

const app = z
  .object({
    appId,
    name: described(z.string(), 'The name that the owner gave the app.', 'edge 1'),
    status: described(z.enum(['pending', 'active', 'revoked']), 'Whether a daemon is enrolled.', 'active'),
    statusAt: instant('When the status last changed.'),
    platform: described(z.string(), 'The platform that the daemon reported; empty until it does.', 'linux/arm64'),
    agentVersion: described(z.string(), 'The version that the daemon reported; empty until it does.', '1.4.2'),
    connection: described(
      z.enum(['cloud', 'private']),
      'A `private` daemon takes no configuration from here.',
      'cloud',
    ),
    createdAt: instant('When the app was created.'),
    lastSeenAt: instantOrNull('The last contact of the daemon, at most a minute behind; null where there was none.'),
    openCodes: count('Enrollment codes that nobody has used yet.', 0),
    managedBy: described(z.string(), 'The FleetApp that stands for the app.', 'production/edge').optional(),
  })
  .meta({ id: 'PanelApp', description: 'An app: one daemon of the account.' });
export type PanelApp = z.infer<typeof app>;

export const listPanelApps = operation({
  id: 'listPanelApps',
  method: 'get',
  path: `${ACCOUNT}/apps`,
  access: 'viewer',
  summary: 'List the apps',
  description: `Lists all apps of the account, newest first. There are at most ${LIMITS.appsPerAccountMax}, so there are no pages.`,
  answers: [
    {
      status: 200,
      description: 'The apps.',
      schema: z
        .object({ apps: described(z.array(app), 'The apps, newest first.', undefined) })
        .meta({ id: 'PanelApps', description: 'The apps of an account.' }),
    },
  ],
});

const detail = app
  .extend({
    enrolledAt: instantOrNull('When the daemon last enrolled; null where none has.'),
    codes: described(
      z.array(
        z.object({
          issuedAt: instant('When the code was issued.'),
          expiresAt: instant('When it ends to be valid.', '2026-03-01T12:00:00.000Z'),
        }),
      ),
      'The open enrollment codes, oldest first; never their text.',
      undefined,
    ),
    acknowledged: described(
      z
        .object({
          revision: count('The revision of the configuration.', 7),
          current: described(z.boolean(), 'Whether it is the current one.', true),
          status: described(z.enum(['applied', 'failed']), 'Whether the daemon applied it.', 'applied'),
          error: described(
            z.string(),
            'What the daemon said where it failed.',
            'the collector does not answer',
          ).optional(),
          at: instant('When the daemon said so.'),
        })
        .nullable(),
      'What the daemon last said of the configuration; null where it has said nothing.',
      undefined,
    ),
    sharedAt: instantOrNull(
      'When machines were last found to share the credential of the app; null where that is more than two hours ago.',
    ),
    reviews: described(
      z.object({ entries: count('Entries in the review queue.', 2), dropped: count('Entries that made room.', 0) }),
      'The app’s entries of the review queue.',
      undefined,
    ),
  })
  .meta({ id: 'PanelAppDetail', description: 'An app with all that is known of it.' });
export type PanelAppDetail = z.infer<typeof detail>;

export const readPanelApp = operation({
  id: 'readPanelApp',
  method: 'get',
  path: `${ACCOUNT}/apps/:appId`,
  access: 'viewer',
  summary: 'Read an app',
  description: 'Reads one app, with its open codes and what its daemon acknowledged.',
  answers: [{ status: 200, description: 'The app.', schema: detail }],
});
