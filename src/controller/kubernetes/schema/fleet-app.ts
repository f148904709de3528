import * as z from 'zod';
import {
  accountRef,
  CLOSING_COLUMNS,
  conditions,
  immutable,
  instant,
  rules,
  secretName,
  type KindSchema,
} from './common.ts';

const spec = z
  .object({
    accountRef,
    name: z.string().max(100).optional().describe('Name of the app; that of the resource if absent. Immutable.'),
    desiredState: z.enum(['Active', 'Revoked']).default('Active'),
    enrollment: z
      .object({
        secretRef: z
          .object({ name: secretName })
          .optional()
          .describe('The Secret that Muster creates, with appId, enrollCode and serverUrl, for envFrom.'),
        issue: z
          .enum(['Once', 'UntilEnrolled', 'Never'])
          .default('UntilEnrolled')
          .describe('Once: one code, never renewed. UntilEnrolled: renewed before it expires, until it is used.'),
      })
      .meta(
        rules({
          rule: "self.issue == 'Never' || has(self.secretRef)",
          message: 'secretRef is required unless issue is Never',
        }),
      )
      .optional()
      .describe('No code is issued where this is absent.'),
    deletionPolicy: z
      .enum(['Delete', 'Revoke', 'Retain'])
      .default('Delete')
      .describe('What becomes of the app when this resource is deleted.'),
  })
  .meta(rules(immutable('accountRef'), immutable('name')));

const status = z.object({
  appId: z.string().max(20).optional(),
  state: z.enum(['pending', 'active', 'revoked']).optional(),
  platform: z.string().max(128).optional(),
  agentVersion: z.string().max(128).optional(),
  lastSeenAt: instant.optional().describe('In steps of 5 minutes.'),
  enrollment: z.object({ expiresAt: instant.optional(), consumed: z.boolean().optional() }).optional(),
  conditions: conditions.optional(),
});

export const fleetApp = {
  kind: 'FleetApp',
  plural: 'fleetapps',
  singular: 'fleetapp',
  shortName: 'fapp',
  description: 'An app of an account: the identity of one daemon, and the code that enrolls it.',
  spec,
  status,
  columns: [
    { name: 'Account', type: 'string', jsonPath: '.spec.accountRef.name' },
    { name: 'App', type: 'string', jsonPath: '.status.appId' },
    { name: 'State', type: 'string', jsonPath: '.status.state' },
    { name: 'Last seen', type: 'date', jsonPath: '.status.lastSeenAt' },
    { name: 'Version', type: 'string', jsonPath: '.status.agentVersion', priority: 1 },
    ...CLOSING_COLUMNS,
  ],
} as const satisfies KindSchema;

export type FleetAppSpec = z.infer<typeof spec>;
export type FleetAppStatus = z.infer<typeof status>;
