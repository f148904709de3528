import * as z from 'zod';
import {
  accountRef,
  CLOSING_COLUMNS,
  conditions,
  immutable,
  instant,
  observedGeneration,
  rules,
  secretName,
  type KindSchema,
} from './common.ts';
import { secretTemplate } from './secret-template.ts';

/** A path in the pod that runs the supervisor. The collector would take `$` for a variable; it is doubled for it. */
const absolutePath = z
  .string()
  .min(2)
  .max(512)
  .regex(/^[/][ -~]+$/);

/**
 * The supervisor and its collector read the paths of their own configurations as URIs, in which a colon ends a scheme.
 */
const storagePath = z
  .string()
  .min(2)
  .max(512)
  .regex(/^[/][ -9;-~]+$/);

/** The path of the program in the collector's image, and the one at which a supervisor keeps its state. */
export const SUPERVISOR_DEFAULTS = {
  executable: '/otelcol-contrib',
  storageDirectory: '/var/lib/otelcol/supervisor',
} as const;

const opamp = z
  .object({
    executable: absolutePath
      .default(SUPERVISOR_DEFAULTS.executable)
      .describe("Path of the collector in the supervisor's container."),
    storageDirectory: storagePath
      .default(SUPERVISOR_DEFAULTS.storageDirectory)
      .describe('Directory in which the supervisor keeps what it has to know after a restart.'),
    configFiles: z
      .array(absolutePath.describe('Path of a file of the collector.'))
      .max(16)
      .optional()
      .describe("The collector's own files, which the configuration of the fleet is merged into."),
    authorityFile: absolutePath
      .optional()
      .describe("Path of the authority that signed the endpoint's certificate, where the system does not know it."),
  })
  .optional()
  .describe("Paths in the supervisor's container, for the secretFormat opamp.");

const spec = z
  .object({
    accountRef,
    name: z.string().max(100).optional().describe('Name of the app; that of the resource if absent. Immutable.'),
    adoptAppId: z
      .string()
      .max(20)
      .regex(/^[a-z0-9]{20}$/)
      .optional()
      .describe(
        'An existing app of the account to take over with its daemon, once the operator has made it adoptable by this ' +
          'resource. It keeps its name. Immutable.',
      ),
    desiredState: z
      .enum(['Active', 'Revoked'])
      .default('Active')
      .describe('Revoked: the daemon has no access, and its codes are void.'),
    secretFormat: z
      .enum(['enrollment', 'opamp'])
      .default('enrollment')
      .describe(
        'enrollment: the Secret holds a code for a daemon to enroll with. opamp: Muster enrolls the app, and the Secret ' +
          'holds a credential and the configuration of an OpAMP supervisor with it.',
      ),
    enrollment: z
      .object({
        secretRef: z
          .object({ name: secretName.describe('Name of the Secret, in the same namespace.') })
          .optional()
          .describe(
            'The Secret that Muster creates: with appId, enrollCode and serverUrl, for envFrom; in the secretFormat opamp ' +
              'with appId, serverUrl, credential and supervisor.yaml, for a volume.',
          ),
        issue: z
          .enum(['Once', 'UntilEnrolled', 'Never'])
          .default('UntilEnrolled')
          .describe(
            'Once: one code, never renewed. UntilEnrolled: renewed before it expires, until it is used. In the ' +
              'secretFormat opamp, Once: one credential; UntilEnrolled: another whenever the Secret has lost it.',
          ),
        opamp,
      })
      .meta(
        rules({
          rule: "self.issue == 'Never' || has(self.secretRef)",
          message: 'secretRef is required unless issue is Never',
        }),
      )
      .optional()
      .describe('How the daemon enrolls. Nothing is issued where this is absent.'),
    secretTemplate,
    deletionPolicy: z
      .enum(['Delete', 'Revoke', 'Retain'])
      .default('Delete')
      .describe('What becomes of the app when this resource is deleted.'),
  })
  .meta(
    rules(
      immutable('accountRef'),
      immutable('name'),
      immutable('adoptAppId'),
      {
        rule: '!(has(self.name) && has(self.adoptAppId))',
        message: 'name cannot be given with adoptAppId: an adopted app keeps its name',
      },
      {
        rule: "self.secretFormat != 'opamp' || has(self.enrollment)",
        message: 'enrollment is required with secretFormat opamp',
      },
      {
        rule: "self.secretFormat == 'opamp' || !has(self.enrollment) || !has(self.enrollment.opamp)",
        message: 'enrollment.opamp is for secretFormat opamp alone',
      },
    ),
  )
  .describe('The app as it should be.');

const status = z
  .object({
    observedGeneration,
    appId: z.string().max(20).optional().describe('Id of the app that this stands for.'),
    state: z
      .enum(['pending', 'active', 'revoked'])
      .optional()
      .describe('pending: no daemon has enrolled yet. active: one has. revoked: it has no access any more.'),
    platform: z.string().max(128).optional().describe('Platform of the daemon, as it tells.'),
    agentVersion: z.string().max(128).optional().describe('Version of the daemon, as it tells.'),
    lastSeenAt: instant.optional().describe('Last contact of the daemon, in steps of 5 minutes.'),
    enrollment: z
      .object({
        expiresAt: instant.optional().describe('When the code stops working; absent where none is open.'),
        consumed: z.boolean().optional().describe('Whether a daemon has enrolled with the code.'),
      })
      .optional()
      .describe('The code that was issued last; absent where none was.'),
    conditions: conditions.optional(),
  })
  .describe('The app as Muster last saw it.');

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
