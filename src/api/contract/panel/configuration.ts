import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import {
  appId,
  closedBody,
  count,
  described,
  entitlement,
  evidenceLevel,
  instant,
  instantOrNull,
  named,
} from '../fields.ts';
import { operation, READERS } from '../operation.ts';
import { readRollout, rollout } from '../operator/rollout.ts';
import { UNREACHED } from '../../../domain/egress/faults.ts';
import { TEST_OUTCOMES } from '../../../domain/otel-config/test-outcomes.ts';
import { storeOtelConfig } from '../v1/otel-config.ts';
import { atPanel } from './derived.ts';

/* The OpenTelemetry configuration of an account, and how far it has come. */

const ACCOUNT = '/panel/v1/accounts/:accountId';

const tag = described(z.string().max(64), 'Names this content.', '7-60f1a2b3c4d5e6f7');

const configuration = z
  .object({
    enabled: described(z.boolean(), 'Whether daemons export to the collector.', true),
    endpoint: described(
      z.string(),
      'The address of the collector; empty where none is stored.',
      'https://otel.example.com',
    ),
    authHeaderSet: described(z.boolean(), 'Whether a header is stored. Its value is never shown.', true),
    evidenceLevel,
    entitlement,
    revision: count('Grows with every change; 0 where none was ever stored.', 7),
    tag,
    changedAt: instantOrNull('When it was stored or purged; null where neither happened.'),
    devices: count('Active cloud daemons: so many pick up a change.', 95),
    purge: described(
      z.enum(['none', 'in-history', 'forgotten']),
      '`in-history` where the last change was a purge and the store may still hold what was purged; `forgotten` once it ' +
        'does not.',
      'none',
    ),
  })
  .meta({ id: 'Configuration', description: 'The configuration of the fleet, without its secret.' });
export type Configuration = z.infer<typeof configuration>;

export const readConfiguration = operation({
  id: 'readConfiguration',
  method: 'get',
  path: `${ACCOUNT}/otel-config`,
  access: 'viewer',
  roles: READERS,
  summary: 'Read the configuration',
  description: 'Reads the OpenTelemetry export configuration and what a change of it would concern.',
  answers: [{ status: 200, description: 'The configuration.', schema: configuration }],
});

const { body, refuse } = storeOtelConfig;

export const storeConfiguration = operation({
  id: 'storeConfiguration',
  method: 'put',
  path: `${ACCOUNT}/otel-config`,
  access: 'owner',
  freshProof: 'by-state',
  summary: 'Set the configuration',
  description:
    'Sets the configuration of all cloud-managed daemons of the account. Where somebody else has changed it since it was ' +
    'read, nothing is stored, and the answer is `changed_meanwhile`. Another address for a header that is stored needs a fresh ' +
    'proof, or the header anew.',
  body: closedBody(body.safeExtend({ seen: tag.optional() }), {
    id: 'StoreConfigurationRequest',
    description: 'The configuration to store.',
  }),
  refuse: { ...refuse, seen: 'invalid_request' },
  errors: ['enterprise_required', 'changed_meanwhile'],
  answers: [{ status: 200, description: 'The configuration as it is stored.', schema: configuration }],
});

const revisionNumber = (description: string) => described(z.int().min(1), description, 6);

const author = named(
  'RevisionAuthor',
  z.object({
    kind: described(
      z.enum(['user', 'key', 'operator', 'kubernetes', 'muster']),
      'A user, an API key, a token of the operator, a custom resource, or the service itself.',
      'user',
    ),
    id: described(
      z.string(),
      'The id of the user or the API key, the name of the token, or namespace, kind and name of the resource.',
      'p7q2r9s4t1u6v3w8',
    ),
    name: described(z.string(), 'The name that the user or the API key had then; empty for others.', 'Ann Example'),
  }),
  'The author of a revision.',
);

const revision = named(
  'ConfigurationRevision',
  z.object({
    revision: revisionNumber('The number of the revision.'),
    at: instant('When it was stored.'),
    by: author,
    enabled: described(z.boolean(), 'Whether daemons exported to the collector.', true),
    endpoint: described(z.string(), 'The address of the collector; empty without one.', 'https://otel.example.com'),
    authHeaderSet: described(z.boolean(), 'Whether a header was stored with it.', true),
    evidenceLevel,
    restores: described(z.int().min(1).nullable(), 'The revision that this one restored; null for others.', 4),
    rollout: described(
      z
        .object({
          applied: count('Daemons that had applied it.', 90),
          failed: count('Daemons that could not apply it.', 1),
          pending: count('Daemons that had not acknowledged it.', 3),
          stale: count('Daemons that were silent.', 1),
        })
        .nullable(),
      'How far the current revision has come, or a former one had when the next one replaced it; null where that is not known.',
      undefined,
    ),
  }),
  'A revision of the configuration, without its secret.',
);
export type ConfigurationRevision = z.infer<typeof revision>;

export const listConfigurationRevisions = operation({
  id: 'listConfigurationRevisions',
  method: 'get',
  path: `${ACCOUNT}/otel-config/revisions`,
  access: 'viewer',
  roles: READERS,
  summary: 'List the revisions of the configuration',
  description:
    'Lists the last revisions of the configuration that are kept, the newest first. A purge removes them all.',
  answers: [
    {
      status: 200,
      description: 'The revisions.',
      schema: z
        .object({ revisions: described(z.array(revision).max(LIMITS.otelRevisionsMax), 'The revisions.', undefined) })
        .meta({ id: 'ConfigurationRevisions', description: 'The kept revisions of the configuration.' }),
    },
  ],
});

export const restoreConfiguration = operation({
  id: 'restoreConfiguration',
  method: 'post',
  path: `${ACCOUNT}/otel-config/restore`,
  access: 'owner',
  freshProof: 'by-state',
  summary: 'Restore a revision of the configuration',
  description:
    'Stores what a kept revision has, as a new revision. The header that is stored now stays where the revision has an endpoint ' +
    'of the same origin. For another origin, `keepHeader` or `authHeader` must be sent, and where the header of the revision is ' +
    'not stored any more, `authHeader`, which is empty for none: otherwise it is refused with `invalid_auth_header`. Another ' +
    'address for a header that is stored needs a fresh proof, or the header anew.',
  body: closedBody(
    z.object({
      revision: revisionNumber('The revision to restore.'),
      seen: tag,
      authHeader: storeOtelConfig.body.shape.authHeader,
      keepHeader: described(
        z.boolean(),
        'Whether the header that is stored now goes to the endpoint of the revision, whatever its origin is.',
        true,
      ).optional(),
    }),
    { id: 'RestoreConfigurationRequest', description: 'The revision to restore.' },
  ),
  refuse: {
    revision: 'invalid_request',
    seen: 'invalid_request',
    authHeader: 'invalid_auth_header',
    keepHeader: 'invalid_request',
  },
  errors: ['enterprise_required', 'changed_meanwhile'],
  answers: [{ status: 200, description: 'The configuration as it is stored.', schema: configuration }],
});

const tested = z
  .object({
    outcome: described(
      z.enum(TEST_OUTCOMES),
      '`reached`: the collector took an empty export. `header-refused`: it answered 401 or 403. `not-reached`: another ' +
        'status, or none. `tls-fault`: no secure connection came about. `not-allowed`: the address is one that this service ' +
        'does not call unless its operator names it in `MUSTER_EGRESS_ALLOW`; nothing was sent. `withdrawn`: the configuration ' +
        'was purged or changed meanwhile, which ended the test.',
      'reached',
    ),
    status: described(
      z.int().min(200).max(599).nullable(),
      'The status of the answer; null where there was none.',
      200,
    ),
    reason: described(
      z.enum(UNREACHED).nullable(),
      'Why there was no answer; null where there was one, and for the other outcomes.',
      null,
    ),
    tlsError: described(z.string().max(200).nullable(), 'The words of TLS; null for every other outcome.', null),
    revision: count('The revision of the configuration whose address and header were tried.', 7),
  })
  .meta({ id: 'CollectorTest', description: 'The outcome of a test of the collector.' });

export const testCollector = operation({
  id: 'testCollector',
  method: 'post',
  path: `${ACCOUNT}/otel-config/test`,
  access: 'owner',
  freshProof: true,
  summary: 'Test the collector',
  description:
    'Sends an empty export of traces by OTLP over HTTP to the stored address with the stored header, once in 10 s for an ' +
    'account, and waits 5 s at most. No redirect is followed. It is this service that tries it: whether daemons reach the ' +
    'collector from where they are, it cannot tell.',
  errors: ['enterprise_required', 'conflict'],
  answers: [{ status: 200, description: 'The outcome.', schema: tested }],
});

const states = named(
  'DeliveryCounts',
  z.object({
    applied: count('Daemons that have applied the revision, and do not say that they are unhealthy.', 95),
    failed: count('Daemons that could not.', 1),
    pending: count('Daemons that have not said so yet.', 2),
    stale: count('Daemons that are silent.', 1),
    unhealthy: count('Agents that say of themselves that they are unhealthy, whatever they have applied.', 1),
  }),
  'How many daemons `listDeliveries` has in each state, where `stale` is `silent`.',
);

const accountRollout = rollout
  .extend({ states })
  .meta({ id: 'CountedRollout', description: 'The rollout of a configuration, with its daemons by their state.' });
export type AccountRollout = z.infer<typeof accountRollout>;

export const readAccountRollout = atPanel(readRollout, 'viewer', {
  answers: [{ status: 200, description: 'The state of the rollout.', schema: accountRollout }],
});

const delivery = z.object({
  appId,
  state: named(
    'DeliveryState',
    z
      .enum(['applied', 'failed', 'pending', 'silent', 'unhealthy'])
      .meta({ 'x-enum-varnames': ['APPLIED_IT', 'FAILED_TO_APPLY', 'NOT_YET', 'IS_SILENT', 'IS_UNHEALTHY'] }),
    'Whether the daemon has applied the revision, could not, or has not said so yet; a `silent` one has not been heard of ' +
      'for three poll intervals. An `unhealthy` agent (OpAMP) says so of itself, whatever it has applied.',
    'applied',
  ),
  error: described(z.string().max(512), 'What the daemon said of it.', 'the collector does not answer').optional(),
});

export const listDeliveries = operation({
  id: 'listDeliveries',
  method: 'get',
  path: `${ACCOUNT}/rollout/apps`,
  access: 'viewer',
  roles: READERS,
  summary: 'List what each daemon does with the configuration',
  description:
    'Lists the daemons that receive the configuration, and the agents that are unhealthy, with what they said of the ' +
    'current revision.',
  answers: [
    {
      status: 200,
      description: 'The daemons.',
      schema: z
        .object({
          revision: count('The revision of the configuration, or of its purge; 0 where none was stored.', 7),
          apps: described(
            z.array(named('Delivery', delivery, 'A daemon.')),
            'The daemons, in no particular order.',
            undefined,
          ),
        })
        .meta({ id: 'Deliveries', description: 'What daemons do with the configuration.' }),
    },
  ],
});
