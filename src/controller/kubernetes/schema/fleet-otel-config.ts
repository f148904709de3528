import * as z from 'zod';
import {
  accountRef,
  CLOSING_COLUMNS,
  conditions,
  immutable,
  observedGeneration,
  rules,
  secretKey,
  secretName,
  type KindSchema,
} from './common.ts';
import { celOf, ENDPOINT_RULES } from './endpoint-rules.ts';

const ENDPOINT_CHARACTERS_MAX = 2048;

const spec = z
  .object({
    accountRef,
    enabled: z.boolean().describe('Whether daemons export. false: they stop.'),
    endpoint: z
      .string()
      .max(ENDPOINT_CHARACTERS_MAX)
      .default('')
      .meta(rules(...ENDPOINT_RULES.map(celOf)))
      .describe('URL of the collector; plain http only for a collector on the own network.'),
    authHeaderSecretRef: z
      .object({
        name: secretName.describe('Name of the Secret, in the same namespace.'),
        key: secretKey.describe('Key of the Secret under which the header stands.'),
      })
      .optional()
      .describe(
        'A Secret labelled muster.dev/auth-header: "true" whose annotations muster.dev/auth-header-for and muster.dev/auth-header-endpoint name this resource and its endpoint. Absent: no header is sent.',
      ),
    evidenceLevel: z
      .enum(['hashes', 'redacted', 'full'])
      .default('hashes')
      .describe('How much of the evidence of a detection leaves the device.'),
  })
  .meta(
    rules(immutable('accountRef'), {
      rule: '!self.enabled || size(self.endpoint) > 0',
      message: 'endpoint is required when enabled',
    }),
  )
  .describe('The export configuration as it should be.');

const count = z.int().min(0);
const status = z
  .object({
    observedGeneration,
    revision: count.optional().describe('Revision of the configuration that is delivered; it grows with every change.'),
    delivery: z
      .object({
        devices: count.describe('Devices that are to have the configuration.'),
        applied: count.describe('Devices that applied it.'),
        failed: count.describe('Devices that could not apply it.'),
        pending: count.describe('Devices that have not told yet.'),
      })
      .optional()
      .describe('How far the configuration has come; written about once a minute.'),
    conditions: conditions.optional(),
  })
  .describe('The configuration as Muster last saw it.');

export const fleetOtelConfig = {
  kind: 'FleetOtelConfig',
  plural: 'fleetotelconfigs',
  singular: 'fleetotelconfig',
  shortName: 'fotel',
  description: 'The OpenTelemetry export configuration of an account. One object for each account.',
  spec,
  status,
  columns: [
    { name: 'Account', type: 'string', jsonPath: '.spec.accountRef.name' },
    { name: 'Enabled', type: 'string', jsonPath: '.spec.enabled' },
    { name: 'Revision', type: 'integer', jsonPath: '.status.revision' },
    { name: 'Applied', type: 'integer', jsonPath: '.status.delivery.applied' },
    { name: 'Failed', type: 'integer', jsonPath: '.status.delivery.failed', priority: 1 },
    ...CLOSING_COLUMNS,
  ],
} as const satisfies KindSchema;

export type FleetOtelConfigSpec = z.infer<typeof spec>;
export type FleetOtelConfigStatus = z.infer<typeof status>;
