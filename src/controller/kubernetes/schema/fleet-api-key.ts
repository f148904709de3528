import * as z from 'zod';
import { KEY_ACCESSES } from '../../../domain/records/key-access.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { CIDR, cidrFault } from '../../../text/ip-addresses.ts';
import {
  accountRef,
  CLOSING_COLUMNS,
  conditions,
  duration,
  immutable,
  instant,
  observedGeneration,
  rules,
  secretKey,
  secretName,
  type KindSchema,
} from './common.ts';
import { secretTemplate } from './secret-template.ts';

const rotation = z
  .object({
    interval: duration.describe('Another secret of the key after so long, at least 1h; as in 720h.'),
    overlap: duration.default('10m').describe('How long the secret before it still works.'),
  })
  .meta(
    rules(
      { rule: "duration(self.interval) >= duration('1h')", message: 'interval must be at least 1h' },
      { rule: 'duration(self.overlap) < duration(self.interval)', message: 'overlap must be shorter than interval' },
    ),
  )
  .describe('Without it the key stays.');

const spec = z
  .object({
    accountRef,
    displayName: z.string().max(200).optional().describe('Name of the key; that of the resource if absent.'),
    secretRef: z
      .object({
        name: secretName.describe('Name of the Secret, in the same namespace.'),
        key: secretKey.default('apiKey').describe('Key of the Secret under which the API key stands.'),
      })
      .describe('The Secret that Muster creates for the key. One that exists already is never written.'),
    expiresAt: instant
      .refine((text) => !Number.isNaN(Date.parse(text)), 'must be an instant')
      .optional()
      .describe('When the key stops working, with each of its secrets; absent: never.'),
    access: z
      .enum(KEY_ACCESSES)
      .optional()
      .describe('What the key may do: full, read, or enroll, which creates apps and issues codes; full if absent.'),
    allowedCidrs: z
      .array(
        z
          .string()
          .max(CIDR.charactersMax)
          .regex(new RegExp(CIDR.pattern))
          .refine((text) => cidrFault(text) === undefined, 'must be a range of addresses')
          .describe('A range of addresses, as in 192.0.2.0/24.'),
      )
      .max(LIMITS.keyCidrsMax)
      .optional()
      .describe('The addresses from which the key may be used, in CIDR notation; absent: all.'),
    secretTemplate,
    rotation: rotation.optional(),
  })
  .meta(rules(immutable('accountRef')))
  .describe('The API key as it should be.');

const status = z
  .object({
    observedGeneration,
    keyId: z.string().max(12).optional().describe('Id of the key; it is no secret.'),
    secretName: z.string().max(253).optional().describe('Name of the Secret that holds the key.'),
    issuedAt: instant.optional().describe('When the secret that the Secret holds was issued.'),
    nextRotationAt: instant.optional().describe('When the key is rotated next.'),
    previousKeyValidUntil: instant.optional().describe('When the former secret stops working.'),
    conditions: conditions.optional(),
  })
  .describe('The API key as Muster last saw it.');

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
    // No date: `kubectl get` shows an instant in the future as <invalid>.
    { name: 'Next rotation', type: 'string', jsonPath: '.status.nextRotationAt', priority: 1 },
    ...CLOSING_COLUMNS,
  ],
} as const satisfies KindSchema;

export type FleetApiKeySpec = z.infer<typeof spec>;
export type FleetApiKeyStatus = z.infer<typeof status>;
