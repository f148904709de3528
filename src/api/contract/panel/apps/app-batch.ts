import * as z from 'zod';
import { APP_CHANGES } from '../../../../domain/apps/batch-items.ts';
import { LIMITS } from '../../../../domain/limits.ts';
import { text } from '../../../http/fields.ts';
import { appId, codeExpiry, described, enrollCode, named } from '../../fields.ts';
import { operation } from '../../operation.ts';

/* P15: one change of many apps. */

const outcome = z
  .object({
    appId: appId.optional(),
    enrollCode: enrollCode.optional(),
    enrollCodeExpiresAt: codeExpiry.optional(),
    error: described(
      z.object({
        code: named(
          'AppBatchError',
          z.enum(['limit_reached', 'not_found', 'upstream_unavailable']),
          'Tells the error apart.',
          'not_found',
        ),
        message: described(z.string(), 'The error in a sentence.', 'No such app.'),
      }),
      'The reason for which this app is not changed.',
      undefined,
    ).optional(),
  })
  .meta({
    id: 'AppOutcome',
    description: 'What became of one app: its id, and its code where there is one; or an error alone.',
  });
export type AppOutcome = z.output<typeof outcome>;

export const changeApps = operation({
  id: 'changeApps',
  method: 'post',
  path: '/panel/v1/accounts/:accountId/apps/batch',
  access: 'owner',
  roles: { support: [{ field: 'change', is: 'revoke' }, 'apps'] },
  summary: 'Change many apps',
  description:
    `Creates up to ${LIMITS.appsPerBatchMax} apps, or issues a code for them, revokes or deletes them. Each app has an ` +
    'outcome of its own, as the operation on one app would answer it. Send an `Idempotency-Key`: for 24 hours a ' +
    'repetition tells the outcomes of the apps that were changed, also after an error of the whole request, and tries ' +
    'the others. A revocation is carried out anew.',
  body: z
    .object({
      change: named(
        'AppChange',
        z.enum(APP_CHANGES),
        'The change: `create` takes names of new apps, the others take ids.',
        'create',
      ),
      apps: described(
        z
          .array(
            described(
              text({ codePointsMax: LIMITS.nameCodePointsMax }),
              `The name of a new app, or the id of an app, at most ${LIMITS.nameCodePointsMax} characters.`,
              'edge 1',
            ),
          )
          .min(1)
          .max(LIMITS.appsPerBatchMax),
        `The apps, at most ${LIMITS.appsPerBatchMax}. An id that is named twice is one app.`,
        ['edge 1', 'edge 2'],
      ),
    })
    .meta({ id: 'ChangeAppsRequest', description: 'A change of many apps.' }),
  refuse: { change: 'invalid_request', apps: 'invalid_request' },
  idempotency: { malformed: 'invalid_request', question: ({ change, apps }) => JSON.stringify([change, apps]) },
  errors: ['account_disabled'],
  answers: [
    {
      status: 200,
      description: 'The outcomes; some apps may not be changed.',
      schema: z
        .object({ outcomes: described(z.array(outcome), 'The outcomes, in the order of the request.', undefined) })
        .meta({ id: 'AppOutcomes', description: 'What became of each app.' }),
      headers: ['Idempotency-Replayed'],
    },
  ],
});
