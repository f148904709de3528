import * as z from 'zod';
import { LIMITS } from '../../../../domain/limits.ts';
import { appId, described, count, instant, instantOrNull, named } from '../../fields.ts';
import { operation, READERS } from '../../operation.ts';

/* The panel shows the apps of an account by these operations; what it does with them is of `/v1`. */

const ACCOUNT = '/panel/v1/accounts/:accountId';

const listed = z.object({
  appId,
  name: described(z.string(), 'The name that the owner gave the app.', 'edge 1'),
  status: described(z.enum(['pending', 'active', 'revoked']), 'Whether a daemon is enrolled.', 'active'),
  platform: described(z.string(), 'The platform that the daemon reported; empty until it does.', 'linux/arm64'),
  agentVersion: described(z.string(), 'The version that the daemon reported; empty until it does.', '1.4.2'),
  connection: described(z.enum(['cloud', 'private']), 'A `private` daemon takes no configuration from here.', 'cloud'),
  createdAt: instant('When the app was created.'),
  managedBy: described(z.string(), 'The FleetApp that stands for the app.', 'production/edge').optional(),
});
export type ListedApp = z.infer<typeof listed>;

/** Two revisions of the store: that of the apps, and that of their last contacts, which move all the time. */
const REVISION = /^\d{1,16}\.\d{1,16}$/;

const contacts = named(
  'PanelContacts',
  z.object({
    newest: instantOrNull('The last contact of all, to the second; null where there was none.'),
    ages: described(
      z.array(described(z.int().min(0).nullable(), 'Seconds; null where there was no contact.', 12)),
      'For each app of the whole list, in its order, how many seconds before it the last contact of the daemon was; null ' +
        'where there was none.',
      undefined,
    ),
  }),
  'The last contacts of the daemons, at most a minute behind.',
);

const list = z
  .object({
    revision: described(z.string(), 'Names this state of the list: the `since` of the next request.', '1723.1741'),
    whole: described(z.boolean(), 'Whether `apps` has all apps, and not only those that have changed.', true),
    apps: described(z.array(named('PanelApp', listed, 'An app: one daemon of the account.')), 'The apps.', undefined),
    removed: described(z.array(appId), 'Apps that are gone.', undefined),
    checksum: described(
      z.string(),
      'FNV-1a of 32 bits over the UTF-16 units of the JSON of each app of the whole list, newest first. Where that of the list with ' +
        'these changes is another one, read the whole list.',
      'a1b2c3d4',
    ),
    contacts: contacts.optional(),
  })
  .meta({ id: 'PanelApps', description: 'The apps of an account, or what has changed of them.' });
export type PanelApps = z.infer<typeof list>;

export const listPanelApps = operation({
  id: 'listPanelApps',
  method: 'get',
  path: `${ACCOUNT}/apps`,
  access: 'viewer',
  roles: READERS,
  summary: 'List the apps',
  description:
    `Lists all apps of the account, newest first and then by id. There are at most ${LIMITS.appsPerAccountMax}, so there are no ` +
    'pages. With `since`, the answer has what has changed after that state, or all where that is not known; without ' +
    '`contacts` these are as they were.',
  query: z.object({
    since: described(
      z.string().regex(REVISION, 'must be the revision of a former answer'),
      'The `revision` of the list that the client has.',
      '1723.1741',
    ).optional(),
  }),
  answers: [{ status: 200, description: 'The apps, or what has changed of them.', schema: list }],
});

const detail = listed
  .extend({
    statusAt: instant('When the status last changed.'),
    lastSeenAt: instantOrNull('The last contact of the daemon, at most a minute behind; null where there was none.'),
    openCodes: count('Enrollment codes that nobody has used yet.', 0),
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
  roles: READERS,
  summary: 'Read an app',
  description: 'Reads one app, with its open codes and what its daemon acknowledged.',
  answers: [{ status: 200, description: 'The app.', schema: detail }],
});
