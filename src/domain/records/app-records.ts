import * as z from 'zod';
import { record, type RecordOf } from './registry.ts';
import { consentSchema, instant, resourceSchema } from './shapes.ts';

/* An app, its credentials, and what its daemon says. */

const openCodeSchema = z.looseObject({ hash: z.string(), issuedAt: instant, expiresAt: instant });
const spentCodeSchema = z.looseObject({ hash: z.string(), why: z.enum(['used', 'voided', 'expired']) });

export const appRecords = {
  app: record('d/a/<accountId>/app/<appId>', {
    schema: z.looseObject({
      name: z.string(),
      status: z.enum(['pending', 'active', 'revoked']),
      /** When the status last changed. */
      statusAt: instant,
      createdAt: instant,
      /** H23: the API key of access `enroll` that created it; absent where none did. */
      createdByKey: z.string().optional(),
      /** The app's number in its account, never used again: its index in the account's `seen` record. */
      slot: z.int().min(0),
      platform: z.string(),
      agentVersion: z.string(),
      /** When a poll last changed these two. */
      reportedAt: instant.optional(),
      connection: z.enum(['cloud', 'private']),
      enrolledAt: instant.optional(),
      /** The hash of the credential that works now; gone once the app is revoked. */
      credential: z.string().optional(),
      /** Open codes in the order of their issue (A5). */
      codes: z.array(openCodeSchema),
      /** Codes that were valid once, oldest first: they name the reason of a refusal, nothing else. */
      spent: z.array(spentCodeSchema),
      /** The enrollment that a daemon may repeat, because its answer may have been lost. */
      enrolled: z
        .looseObject({
          code: z.string(),
          credential: z.string(),
          at: instant,
          /** Nobody has proved the credential yet (devices/credential-binding.ts); it goes with the first request. */
          provisional: z.boolean().optional(),
        })
        .optional(),
      /** `namespace/name` of the one custom resource that may adopt the app, once. */
      adoptableBy: z.string().optional(),
      consent: consentSchema.optional(),
      /**
       * The custom resource that adopted the app; absent where the app was created for the resource that it follows.
       */
      managedBy: resourceSchema.optional(),
      /**
       * The custom resource that the app followed until it was deleted; one of that name may adopt the app again,
       * unless an operator has withdrawn that. It stays then: a resource from which the app was taken before does not
       * get it back.
       */
      releasedBy: resourceSchema.extend({ withdrawn: z.literal(true).optional() }).optional(),
    }),
    writeClass: 'by commit',
    backup: 'kept',
    ownedBy: 'app',
    holds: 'an app: status, hash of the credential, open and spent codes by hash',
  }),
  /**
   * `packed` is read by domain/fleet/last-seen-codec.ts. `senders` has who that was, packed alike, for some of those
   * whom several replicas hear of (domain/shared-credentials/sharing-watch.ts); absent where there is none.
   */
  lastSeen: record('d/a/<accountId>/seen', {
    schema: z.looseObject({ packed: z.string(), senders: z.string().optional() }),
    writeClass: 'upkeep',
    backup: 'kept',
    holds: 'last contacts by slot, packed, and of some who that was; quiet',
  }),
  /** Every credential that was ever bound to an app, until that is deleted. */
  credential: record('cred/<credentialHash>', {
    schema: z.looseObject({
      accountId: z.string(),
      appId: z.string(),
      /** The binding yields to an enrollment that proves the credential (devices/credential-binding.ts). */
      provisional: z.boolean().optional(),
    }),
    writeClass: 'by commit',
    backup: 'kept',
    removedBy: 'domain/apps, which knows the hashes',
    holds: 'the app of a credential, past ones included; whether nobody has proved it yet',
  }),
  pastCredential: record('past/<appId>/<credentialHash>', {
    schema: z.looseObject({}),
    writeClass: 'by commit',
    backup: 'kept',
    removedBy: 'domain/apps: there may be more than one commit removes',
    holds: "an app's earlier credentials",
  }),
  ack: record('ack/<accountId>/<appId>', {
    schema: z.looseObject({
      revision: z.int().min(0),
      status: z.enum(['applied', 'failed']),
      error: z.string().optional(),
      at: instant,
    }),
    // A daemon's own state, which it may write as often as it likes.
    writeClass: 'growth',
    backup: 'kept',
    ownedBy: 'app',
    holds: 'what the daemon did with a revision of the configuration; quiet',
  }),
  refusalNote: record('refused/<accountId>/<appId>', {
    schema: z.looseObject({ at: instant }),
    writeClass: 'by commit',
    backup: 'kept',
    ownedBy: 'app',
    holds: 'when a refused enrollment last entered the audit',
  }),
};
export type AppRecord = RecordOf<typeof appRecords.app>;
export type AppStatus = AppRecord['status'];
export type LastSeenRecord = RecordOf<typeof appRecords.lastSeen>;
export type AckRecord = RecordOf<typeof appRecords.ack>;
