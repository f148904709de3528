import * as z from 'zod';
import {
  accountRef,
  CLOSING_COLUMNS,
  conditions,
  immutable,
  rules,
  secretKey,
  secretName,
  type KindSchema,
} from './common.ts';

const ENDPOINT_CHARACTERS_MAX = 2048;

const spec = z
  .object({
    accountRef,
    enabled: z.boolean(),
    endpoint: z
      .string()
      .max(ENDPOINT_CHARACTERS_MAX)
      .default('')
      .describe('URL of the collector; plain http only for a collector on the own network.'),
    authHeaderSecretRef: z
      .object({ name: secretName, key: secretKey })
      .optional()
      .describe('A key of a Secret labelled muster.dev/auth-header: "true". Absent: no header is sent.'),
    evidenceLevel: z.enum(['hashes', 'redacted', 'full']).default('hashes'),
  })
  .meta(
    rules(
      immutable('accountRef'),
      { rule: '!self.enabled || size(self.endpoint) > 0', message: 'endpoint is required when enabled' },
      {
        rule: "size(self.endpoint) == 0 || self.endpoint.matches('^https?://[^/?#@]+(/[^?#]*)?$')",
        message: 'endpoint must be an http or https URL without user, query and fragment',
      },
    ),
  );

const count = z.int().min(0);
const status = z.object({
  revision: count.optional(),
  delivery: z.object({ devices: count, applied: count, failed: count, pending: count }).optional(),
  conditions: conditions.optional(),
});

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
