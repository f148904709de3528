import * as z from 'zod';
import { closedBody, count, described, entitlement, evidenceLevel, instantOrNull } from '../fields.ts';
import { operation } from '../operation.ts';
import { readRollout } from '../operator/rollout.ts';
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

const tested = z
  .object({
    outcome: described(
      z.enum(TEST_OUTCOMES),
      '`reached`: the collector took an empty export. `header-refused`: it answered 401 or 403. `not-reached`: another ' +
        'status, or none. `tls-fault`: no secure connection came about. `not-allowed`: the address is one that this service ' +
        'does not call unless its operator names it in `MUSTER_EGRESS_ALLOW`; nothing was sent.',
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
  errors: ['enterprise_required', 'conflict', 'rate_limited'],
  answers: [{ status: 200, description: 'The outcome.', schema: tested }],
});

export const readAccountRollout = atPanel(readRollout, 'viewer');
