import * as z from 'zod';
import { CLOSING_COLUMNS, conditions, immutable, observedGeneration, rules, type KindSchema } from './common.ts';

const spec = z
  .object({
    displayName: z.string().min(1).max(200).optional().describe('Name of the account; that of the resource if absent.'),
    entitlement: z
      .enum(['standard', 'enterprise'])
      .default('standard')
      .describe('enterprise: the account may export its detections to a collector.'),
    disabled: z.boolean().default(false).describe('Cuts every key and daemon of the account off at once.'),
    adoptAccountId: z
      .string()
      .max(16)
      .regex(/^[a-z0-9]{16}$/)
      .optional()
      .describe(
        'An existing account to take over, once the operator has made it adoptable by this resource. Immutable.',
      ),
    deletionPolicy: z
      .enum(['Retain', 'Disable'])
      .default('Retain')
      .describe('What becomes of the account when this resource is deleted.'),
  })
  .meta(rules(immutable('adoptAccountId')))
  .describe('The account as it should be.');

const count = z.int().min(0);
const status = z
  .object({
    observedGeneration,
    accountId: z.string().max(16).optional().describe('Id of the account that this stands for.'),
    apps: z
      .object({
        total: count.describe('All apps of the account.'),
        active: count.describe('Apps whose daemon is enrolled.'),
        pending: count.describe('Apps whose daemon has not enrolled yet.'),
        revoked: count.describe('Apps that are revoked.'),
      })
      .optional()
      .describe('The number of apps by state; written at most once a minute.'),
    conditions: conditions.optional(),
  })
  .describe('The account as Muster last saw it.');

export const fleetAccount = {
  kind: 'FleetAccount',
  plural: 'fleetaccounts',
  singular: 'fleetaccount',
  shortName: 'facct',
  description: 'An account of the fleet: its entitlement, and whether it is disabled.',
  spec,
  status,
  columns: [
    { name: 'Account', type: 'string', jsonPath: '.status.accountId' },
    { name: 'Entitlement', type: 'string', jsonPath: '.spec.entitlement' },
    { name: 'Active', type: 'integer', jsonPath: '.status.apps.active' },
    { name: 'Apps', type: 'integer', jsonPath: '.status.apps.total', priority: 1 },
    ...CLOSING_COLUMNS,
  ],
} as const satisfies KindSchema;

export type FleetAccountSpec = z.infer<typeof spec>;
export type FleetAccountStatus = z.infer<typeof status>;
