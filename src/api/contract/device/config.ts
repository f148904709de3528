import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { textFault } from '../../http/text.ts';
import { described, evidenceLevel, named } from '../fields.ts';
import { operation } from '../operation.ts';
import { pollIntervalSeconds } from './enrollment.ts';

const revision = described(
  z.int().min(0),
  'The revision of the configuration, which each change of it raises; 0 for the one that was never stored.',
  7,
);

const otel = named(
  'DeliveredOtelConfig',
  z.object({
    enabled: described(z.boolean(), 'Whether to export at all.', true),
    endpoint: described(
      z.string(),
      'The OTLP/HTTP address of the collector; empty where none is set.',
      'https://otel.example.com',
    ),
    headers: described(z.record(z.string(), z.string()), 'The headers to send to the collector, secrets among them.', {
      Authorization: 'Bearer collector-token',
    }),
    evidenceLevel,
  }),
  'The export configuration.',
);

/** GET /device/v1/config. */
export const pollConfig = operation({
  id: 'pollConfig',
  method: 'get',
  path: '/device/v1/config',
  summary: 'Poll the configuration',
  description:
    'Gives the configuration of the daemon, or 304 where it has it already. `Prefer: wait=N` holds a poll that would be ' +
    `304 for up to ${LIMITS.pollWaitSecondsMax} seconds, until the configuration changes. A poll is the sign of life that \`lastSeenAt\` tells of.`,
  headers: ['If-None-Match', 'Prefer', 'Muster-Platform', 'Muster-Agent-Version', 'Muster-Instance-Id'],
  answers: [
    {
      status: 200,
      description: 'The configuration, which is another one than the tag stands for.',
      schema: z
        .object({ revision, pollIntervalSeconds, otel })
        .meta({ id: 'DeviceConfig', description: 'The configuration of a daemon.' }),
      headers: ['ETag', 'Retry-After'],
    },
    { status: 304, description: 'The configuration is the one of the tag.', headers: ['ETag', 'Retry-After'] },
  ],
  command: 'agent run --app k3v9x0q2m7t5b8n1c4d6 --credential-file credential',
});

/** POST /device/v1/config/ack. */
export const acknowledgeConfig = operation({
  id: 'acknowledgeConfig',
  method: 'post',
  path: '/device/v1/config/ack',
  summary: 'Acknowledge a configuration',
  description: 'Tells whether the daemon could apply a revision, for the view of the rollout.',
  body: z
    .object({
      revision: described(
        z.int().min(0),
        'The revision that the daemon applied, or could not; one that it was never given is 400.',
        7,
      ),
      status: named('AckStatus', z.enum(['applied', 'failed']), 'How it went.', 'applied'),
      // A longer error text of a daemon is cut, not refused: the state matters more than the prose.
      error: described(
        z
          .string()
          .refine(
            (value) => textFault(value, { codePointsMax: LIMITS.requestBodyBytesMax }) === undefined,
            'must be Unicode text',
          )
          .transform((value) => value.slice(0, LIMITS.ackErrorCharactersMax).toWellFormed()),
        `What went wrong; cut after ${LIMITS.ackErrorCharactersMax} characters. No secret belongs here.`,
        'the collector does not answer',
      ).optional(),
    })
    .meta({ id: 'AcknowledgeConfigRequest', description: 'The outcome of a revision on one machine.' }),
  exampleWithout: ['error'],
  refuse: { revision: 'invalid_request', status: 'invalid_request', error: 'invalid_request' },
  answers: [{ status: 204, description: 'The outcome is noted.' }],
});
