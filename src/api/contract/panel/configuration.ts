import * as z from 'zod';
import { appId, closedBody, count, described, entitlement, evidenceLevel, instantOrNull, named } from '../fields.ts';
import { operation } from '../operation.ts';
import { readRollout } from '../operator/rollout.ts';
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

export const readAccountRollout = atPanel(readRollout, 'viewer');

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
