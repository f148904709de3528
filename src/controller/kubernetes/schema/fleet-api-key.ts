import * as z from 'zod';
import {
  accountRef,
  CLOSING_COLUMNS,
  conditions,
  duration,
  immutable,
  instant,
  rules,
  secretKey,
  secretName,
  type KindSchema,
} from './common.ts';

const rotation = z
  .object({
    interval: duration.describe('A new key after so long, at least 1h; as in 720h.'),
    overlap: duration.default('10m').describe('How long the key before it still works.'),
  })
  .meta(
    rules(
      { rule: "duration(self.interval) >= duration('1h')", message: 'interval must be at least 1h' },
      { rule: 'duration(self.overlap) < duration(self.interval)', message: 'overlap must be shorter than interval' },
    ),
  );

const spec = z
  .object({
    accountRef,
    displayName: z.string().max(200).optional().describe('Name of the key; that of the resource if absent.'),
    secretRef: z
      .object({ name: secretName, key: secretKey.default('apiKey') })
      .describe('The Secret that Muster creates for the key. One that exists already is never written.'),
    rotation: rotation.optional(),
  })
  .meta(rules(immutable('accountRef')));

const status = z.object({
  keyId: z.string().max(12).optional(),
  secretName: z.string().max(253).optional(),
  issuedAt: instant.optional(),
  nextRotationAt: instant.optional(),
  previousKeyValidUntil: instant.optional(),
  conditions: conditions.optional(),
});

export const fleetApiKey = {
  kind: 'FleetApiKey',
  plural: 'fleetapikeys',
  singular: 'fleetapikey',
  shortName: 'fkey',
  description: 'An API key of an account, in a Secret that Muster writes and rotates.',
  spec,
  status,
  columns: [
    { name: 'Account', type: 'string', jsonPath: '.spec.accountRef.name' },
    { name: 'Key', type: 'string', jsonPath: '.status.keyId' },
    { name: 'Secret', type: 'string', jsonPath: '.status.secretName' },
    { name: 'Next rotation', type: 'date', jsonPath: '.status.nextRotationAt', priority: 1 },
    ...CLOSING_COLUMNS,
  ],
} as const satisfies KindSchema;

export type FleetApiKeySpec = z.infer<typeof spec>;
export type FleetApiKeyStatus = z.infer<typeof status>;
