import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { appId, appStatus, closedBody, described, next, pageQuery } from '../fields.ts';
import { operation, READERS } from '../operation.ts';
import { adoptableBy, adoptableUntil, namespaceUid, offeredNamespaceUid } from './accounts.ts';

const RESOURCE = 'production/scanner';

const consentedApp = z
  .object({
    appId,
    name: described(z.string().max(LIMITS.nameCodePointsMax), 'The name for people.', 'scanner'),
    status: appStatus,
    adoptableBy: described(z.string(), 'The FleetApp that may adopt the app, once.', RESOURCE).optional(),
    adoptableUntil,
    namespaceUid: offeredNamespaceUid,
    managedBy: described(z.string(), 'The FleetApp that stands for the app.', RESOURCE).optional(),
  })
  .meta({ id: 'AccountApp', description: 'An app, as the operator sees it who gives it to a FleetApp.' });

export type ConsentedApp = z.infer<typeof consentedApp>;

export const listAccountApps = operation({
  id: 'listAccountApps',
  method: 'get',
  path: '/operator/v1/accounts/:accountId/apps',
  roles: READERS,
  summary: 'List the apps of an account',
  description:
    'Lists the apps by their ids, page by page, with the custom resources of Kubernetes that stand for them. The owner of ' +
    'the account reads more of them with `GET /v1/apps`.',
  query: pageQuery,
  answers: [
    {
      status: 200,
      description: 'A page of apps.',
      schema: z
        .object({ apps: described(z.array(consentedApp), 'The apps of the page.', undefined), next })
        .meta({ id: 'AccountAppPage', description: 'A page of the apps of an account.' }),
    },
  ],
});

export const changeAccountApp = operation({
  id: 'changeAccountApp',
  method: 'patch',
  path: '/operator/v1/accounts/:accountId/apps/:appId',
  summary: 'Let a FleetApp adopt an app',
  description:
    'Consents that a FleetApp adopts the app, once: its daemon goes on with its credential. The consent is used up by the ' +
    'adoption.',
  body: closedBody(
    z.object({
      adoptableBy: described(
        adoptableBy('FleetApp').nullable(),
        'The FleetApp, as `namespace/name`, that may adopt the app, once; null withdraws it.',
        RESOURCE,
      ),
      namespaceUid,
    }),
    { id: 'ChangeAccountAppRequest', description: 'The consent.' },
  ),
  errors: ['conflict'],
  answers: [{ status: 200, description: 'The app as it is now.', schema: consentedApp }],
  command: 'apps adopt {appId} --account {accountId} --namespace production',
});
