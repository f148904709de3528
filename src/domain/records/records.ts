import * as z from 'zod';
import { sealedSchema } from './sealed.ts';

/*
 * The shape of the records; `keys.ts` has their keys. Instants are milliseconds since 1970. Objects are loose: fields
 * of a newer minor version survive a rewrite by this one.
 */

/** The format of all records together. A change that an older program could not live with raises it (format.ts). */
export const FORMAT = 1;
/** `format`: the format of all records of the store. */
export const formatSchema = z.looseObject({
  format: z.int().min(1),
  /**
   * Tells this store from every other one (A14). Absent in a store that only a version before this field has started
   * on.
   */
  storeId: z.string().min(1).optional(),
});

const instant = z.int().min(0);

/** A custom resource of Kubernetes that an account or an app follows, or followed until it was deleted. */
const resourceSchema = z.looseObject({ uid: z.string(), namespace: z.string(), name: z.string() });

/**
 * How long `adoptableBy` holds, and the UID of the namespace that it means: another namespace of that name gets nothing.
 * Without the UID nobody has asked the cluster yet. Absent in records of earlier versions, whose consents hold no more.
 */
const consentSchema = z.looseObject({ until: instant, namespaceUid: z.string().optional() });

/** An account. */
export const accountSchema = z.looseObject({
  name: z.string(),
  entitlement: z.enum(['standard', 'enterprise']),
  disabled: z.boolean(),
  createdAt: instant,
  /** The quota of this account in MiB; 0 is none, and absent is that of the installation (A16). */
  quotaMb: z.int().min(0).optional(),
  /** `namespace/name` of the one custom resource that may take the account over, once. */
  adoptableBy: z.string().optional(),
  consent: consentSchema.optional(),
  /** The custom resource that the account follows. */
  managedBy: resourceSchema.extend({ namespaceUid: z.string().optional() }).optional(),
  /**
   * The custom resource that the account followed until it was deleted: the one of that name which comes next in the
   * same namespace, by its UID, takes the account up again (docs/adr/0041-adoption.md).
   */
  releasedBy: resourceSchema.extend({ namespaceUid: z.string(), at: instant }).optional(),
});
export type AccountRecord = z.infer<typeof accountSchema>;

/** An API key of an account. */
export const apiKeySchema = z.looseObject({
  name: z.string(),
  /** SHA-256 of the whole key, base64url; empty where the key expires. */
  hash: z.string(),
  createdAt: instant,
  /** The hash of a key that expires (domain/records/key-expiry.ts). */
  expiring: z.looseObject({ hash: z.string(), expiresAt: instant }).optional(),
  /** Who created it, as the audit names actors; absent for keys of earlier versions. */
  createdBy: z.string().optional(),
});
/** When the keys of an account were last used: pairs of a key's id and an instant. */
export const keyUsesSchema = z.looseObject({ keys: z.array(z.tuple([z.string(), instant])) });
export type ApiKeyRecord = z.infer<typeof apiKeySchema>;

const openCodeSchema = z.looseObject({ hash: z.string(), issuedAt: instant, expiresAt: instant });
const spentCodeSchema = z.looseObject({ hash: z.string(), why: z.enum(['used', 'voided', 'expired']) });

/** An app of an account. */
export const appSchema = z.looseObject({
  name: z.string(),
  status: z.enum(['pending', 'active', 'revoked']),
  /** When the status last changed. */
  statusAt: instant,
  createdAt: instant,
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
  /** The custom resource that adopted the app; absent where the app was created for the resource that it follows. */
  managedBy: resourceSchema.optional(),
  /**
   * The custom resource that the app followed until it was deleted; one of that name may adopt the app again, unless an
   * operator has withdrawn that. It stays then: a resource from which the app was taken before does not get it back.
   */
  releasedBy: resourceSchema.extend({ withdrawn: z.literal(true).optional() }).optional(),
});
export type AppRecord = z.infer<typeof appSchema>;
export type AppStatus = AppRecord['status'];

/** The configuration of an account, or what a purge leaves of it. */
export const otelSchema = z.looseObject({
  /** Grows with every change, a purge too, so that a daemon's acknowledgement names one content. */
  revision: z.int().min(1),
  /** 64 random bits of this content: an ETag never repeats, not even after a restore. */
  tag: z.string(),
  at: instant,
  /** Absent after a purge. */
  config: z
    .looseObject({
      enabled: z.boolean(),
      endpoint: z.string(),
      evidenceLevel: z.enum(['hashes', 'redacted', 'full']),
      header: sealedSchema.optional(),
    })
    .optional(),
});
export type OtelRecord = z.infer<typeof otelSchema>;

/**
 * `tally`: the counters of an account. Every create and delete writes them, so that the count of apps is exact under
 * races (A10).
 */
export const countersSchema = z.looseObject({
  apps: z.int().min(0),
  nextSlot: z.int().min(0),
  idempotencyNext: z.int().min(0),
});
export type CountersRecord = z.infer<typeof countersSchema>;

/**
 * `stored`: what an account stores of its own (A16), in bytes, as the leader last wrote it: where it has changed by a
 * part of the quota. `marks` are earlier values, the oldest first, by which its growth is told.
 */
export const storedSchema = z.looseObject({
  at: instant,
  audit: z.int().min(0),
  records: z.int().min(0),
  marks: z.array(z.tuple([instant, z.int().min(0)])),
});
export type StoredRecord = z.infer<typeof storedSchema>;

/**
 * Last contact by slot, packed (domain/fleet/last-seen-codec.ts). `senders` has who that was, packed alike, for some of
 * those whom several replicas hear of (domain/shared-credentials/sharing-watch.ts); absent where there is none.
 */
export const lastSeenSchema = z.looseObject({ packed: z.string(), senders: z.string().optional() });
export type LastSeenRecord = z.infer<typeof lastSeenSchema>;

/** The acknowledgement of a daemon: whether it applied a revision of the configuration. */
export const ackSchema = z.looseObject({
  revision: z.int().min(0),
  status: z.enum(['applied', 'failed']),
  error: z.string().optional(),
  at: instant,
});
export type AckRecord = z.infer<typeof ackSchema>;

/** An entry of an account's audit. */
export const auditSchema = z.looseObject({
  at: instant,
  /**
   * `operator`, `operator:<name>`, `user:<userId>`, `key:<keyId>`, `device:<appId>`, `muster` or
   * `kubernetes:<namespace>/<kind>/<name>`.
   */
  actor: z.string(),
  /** The user acted as an operator of the installation: the account is not charged with the entry (A16). */
  asOperator: z.literal(true).optional(),
  action: z.string(),
  appId: z.string().optional(),
  requestId: z.string(),
  detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
});
export type AuditRecord = z.infer<typeof auditSchema>;

/** H19: the answer to a request with an Idempotency-Key, kept for a day. It is encrypted, since it holds a code or an API key. */
export const idempotencyRecordSchema = z.looseObject({
  at: instant,
  slot: z.int().min(0),
  /** A hash of the request: the same key with another request is refused. */
  question: z.string(),
  answer: sealedSchema,
});
/** A slot in the ring of an account's idempotency records: it names the record that has the slot. */
export const idempotencySlotSchema = z.looseObject({ key: z.string() });
/** How many idempotency records of the operator's a scope has had: the next one's slot follows from it. */
export const idempotencyRingSchema = z.looseObject({ next: z.int().min(0) });

/** Leads from a key id, or from the hash of a credential, to its account. */
export const keyLocatorSchema = z.looseObject({ accountId: z.string() });
/** `cred/…`: leads from the hash of a credential to its app. */
export const credentialSchema = z.looseObject({
  accountId: z.string(),
  appId: z.string(),
  /** The binding yields to an enrollment that proves the credential (devices/credential-binding.ts). */
  provisional: z.boolean().optional(),
});

/** A purge whose older revisions are still in the store's history; `keyNumber` where it held a secret. */
export const purgeSchema = z.looseObject({ at: instant, keyNumber: z.int().min(1).optional() });
/** Purges that are out of the history, and unreadable for good only when their key is retired (O10). */
export const purgedSchema = z.looseObject({ count: z.int().min(0) });

/** The last compaction of the store's history: when a replica claimed it, and the store's revision then. */
export const compactionSchema = z.looseObject({ at: instant, revision: z.int().min(0) });
export type CompactionRecord = z.infer<typeof compactionSchema>;

/** The last backup that was sent whole: when the store was as it has it. */
export const lastBackupSchema = z.looseObject({ at: instant });

/** The leader, for people to see; the fence is the record's revision. */
export const leaderSchema = z.looseObject({ replicaId: z.string(), since: instant });

/** The instant of the last audit entry about a refused enrollment of an app. */
export const noteSchema = z.looseObject({ at: instant });

/** The counters of an account that has none yet. */
export const NO_COUNTERS: CountersRecord = { apps: 0, nextSlot: 0, idempotencyNext: 0 };
