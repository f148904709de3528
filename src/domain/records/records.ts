import * as z from 'zod';
import { ABSENT, CACHED_PREFIX, type Entry } from '../../store/port.ts';
import { sealedSchema } from './sealed.ts';

/*
 * Every record of the store: its key and its shape. This file is the map of what lies there. Instants are milliseconds
 * since 1970. Objects are loose: fields of a newer minor version survive a rewrite by this one.
 */

/** The format of all records together. A change that an older program could not live with raises it (format.ts). */
export const FORMAT = 1;
export const formatSchema = z.looseObject({
  format: z.int().min(1),
  /** There while records of this earlier format may be left: the migration is under way, or was cut off. */
  migratingFrom: z.int().min(1).optional(),
});

const instant = z.int().min(0);

export const accountSchema = z.looseObject({
  name: z.string(),
  entitlement: z.enum(['standard', 'enterprise']),
  disabled: z.boolean(),
  createdAt: instant,
  /** `namespace/name` of the one custom resource that may take the account over, once. */
  adoptableBy: z.string().optional(),
  /** The custom resource that the account follows. */
  managedBy: z.looseObject({ uid: z.string(), namespace: z.string(), name: z.string() }).optional(),
});
export type AccountRecord = z.infer<typeof accountSchema>;

export const apiKeySchema = z.looseObject({
  name: z.string(),
  /** SHA-256 of the whole key, base64url. */
  hash: z.string(),
  createdAt: instant,
});
export type ApiKeyRecord = z.infer<typeof apiKeySchema>;

const openCodeSchema = z.looseObject({ hash: z.string(), issuedAt: instant, expiresAt: instant });
const spentCodeSchema = z.looseObject({ hash: z.string(), why: z.enum(['used', 'voided', 'expired']) });

export const appSchema = z.looseObject({
  name: z.string(),
  status: z.enum(['pending', 'active', 'revoked']),
  /** When the status last changed. */
  statusAt: instant,
  createdAt: instant,
  /** The app's number in its account, never used again: its place in the account's `seen` record. */
  slot: z.int().min(0),
  platform: z.string(),
  agentVersion: z.string(),
  connection: z.enum(['cloud', 'private']),
  enrolledAt: instant.optional(),
  /** The hash of the credential that works now; gone once the app is revoked. */
  credential: z.string().optional(),
  /** Open codes in the order of their issue (A5). */
  codes: z.array(openCodeSchema),
  /** Codes that were valid once, oldest first: they name the reason of a refusal, nothing else. */
  spent: z.array(spentCodeSchema),
  /** The enrollment that a daemon may repeat, because its answer may have been lost. */
  enrolled: z.looseObject({ code: z.string(), credential: z.string(), at: instant }).optional(),
});
export type AppRecord = z.infer<typeof appSchema>;
export type AppStatus = AppRecord['status'];

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

/** What the account's creates and deletes meet in: its count of apps, exact under races (A10). */
export const countersSchema = z.looseObject({
  apps: z.int().min(0),
  nextSlot: z.int().min(0),
  idempotencyNext: z.int().min(0),
});
export type CountersRecord = z.infer<typeof countersSchema>;

/** Last contact by slot, packed (domain/fleet/last-seen-codec.ts). */
export const lastSeenSchema = z.looseObject({ packed: z.string() });

/** What a daemon did with a revision of the configuration. */
export const ackSchema = z.looseObject({
  revision: z.int().min(0),
  status: z.enum(['applied', 'failed']),
  error: z.string().optional(),
  at: instant,
});
export type AckRecord = z.infer<typeof ackSchema>;

export const auditSchema = z.looseObject({
  at: instant,
  /** `operator`, `key:<keyId>`, `device:<appId>`, `muster` or `kubernetes:<namespace>/<kind>/<name>`. */
  actor: z.string(),
  action: z.string(),
  appId: z.string().optional(),
  requestId: z.string(),
  detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
});
export type AuditRecord = z.infer<typeof auditSchema>;

/** H19: an answer kept for a day, encrypted, since it holds a code. */
export const idempotencyRecordSchema = z.looseObject({
  at: instant,
  slot: z.int().min(0),
  /** What was asked: the same key with another question is refused. */
  question: z.string(),
  answer: sealedSchema,
});
export type IdempotencyRecord = z.infer<typeof idempotencyRecordSchema>;
export const idempotencySlotSchema = z.looseObject({ key: z.string() });

/** An account's API keys and credentials found without knowing the account. */
export const keyLocatorSchema = z.looseObject({ accountId: z.string() });
export const credentialSchema = z.looseObject({ accountId: z.string(), appId: z.string() });

/** A purge whose older revisions are still in the store's history; `keyNumber` where it held a secret. */
export const purgeSchema = z.looseObject({ at: instant, keyNumber: z.int().min(1).optional() });
/** Purges that are out of the history, and unreadable for good only when their key is retired (O10). */
export const purgedSchema = z.looseObject({ count: z.int().min(0) });

/** The last turn at compacting the store's history: when it was claimed, and the store's revision then. */
export const compactionSchema = z.looseObject({ at: instant, revision: z.int().min(0) });
export type CompactionRecord = z.infer<typeof compactionSchema>;

/** Who leads, for people to see: what fences is the record's revision. */
export const leaderSchema = z.looseObject({ replicaId: z.string(), since: instant });

export const noteSchema = z.looseObject({ at: instant });

const ACCOUNTS = `${CACHED_PREFIX}a/`;

/** The directory in parts that prove themselves one by one: account ids begin with a letter or digit. */
export const CACHED_GROUPS: readonly string[] = [
  ...'abcdefghijklmnopqrstuvwxyz0123456789'.split('').map((first) => `${ACCOUNTS}${first}`),
  `${CACHED_PREFIX}day`,
  `${CACHED_PREFIX}keys`,
];

export const KEYS = {
  format: 'format',

  // The directory range: held in memory by every replica. One account's records lie together.
  accounts: ACCOUNTS,
  account: (accountId: string) => `${ACCOUNTS}${accountId}`,
  apiKeys: (accountId: string) => `${ACCOUNTS}${accountId}/key/`,
  apiKey: (accountId: string, keyId: string) => `${ACCOUNTS}${accountId}/key/${keyId}`,
  apps: (accountId: string) => `${ACCOUNTS}${accountId}/app/`,
  app: (accountId: string, appId: string) => `${ACCOUNTS}${accountId}/app/${appId}`,
  otel: (accountId: string) => `${ACCOUNTS}${accountId}/otel`,
  counters: (accountId: string) => `${ACCOUNTS}${accountId}/tally`,
  lastSeen: (accountId: string) => `${ACCOUNTS}${accountId}/seen`,
  /** The day that transitions are stamped with; no night is metered before it has moved on (M1). */
  day: `${CACHED_PREFIX}day`,
  /** Which key-encryption key writes. */
  activeKey: `${CACHED_PREFIX}keys`,

  /** Stays when the key is revoked: a key id is used once. */
  keyLocator: (keyId: string) => `key/${keyId}`,
  /** Every credential ever bound to an app, by hash, until the app is deleted. */
  credential: (hash: string) => `cred/${hash}`,
  pastAll: 'past/',
  pastCredentials: (appId: string) => `past/${appId}/`,
  pastCredential: (appId: string, hash: string) => `past/${appId}/${hash}`,

  acks: 'ack/',
  ack: (accountId: string, appId: string) => `ack/${accountId}/${appId}`,
  /** The review queue, by app, so that deleting an app removes its entries by their prefix. */
  reviewQueue: (accountId: string) => `review/${accountId}/`,
  reviews: (accountId: string, appId: string) => `review/${accountId}/${appId}/`,
  review: (accountId: string, appId: string, entryId: string) => `review/${accountId}/${appId}/${entryId}`,
  /** Which entries an app has: what bounds them meets here. */
  reviewIndex: (accountId: string, appId: string) => `reviews/${accountId}/${appId}`,
  refusalNotes: 'refused/',
  refusalNote: (accountId: string, appId: string) => `refused/${accountId}/${appId}`,

  auditsAll: 'audit/',
  audits: (accountId: string) => `audit/${accountId}/`,
  audit: (accountId: string, at: number, marker: string) =>
    `audit/${accountId}/${at.toString(36).padStart(9, '0')}-${marker}`,

  /** The chain over an account's audit: its sealed blocks, and its head. */
  seals: (accountId: string) => `seal/${accountId}/`,
  seal: (accountId: string, number: number) => `seal/${accountId}/${String(number).padStart(9, '0')}`,
  chains: 'chain/',
  chain: (accountId: string) => `chain/${accountId}`,

  /** Status transitions by day; they outlive their app, so that a night can be rebuilt. */
  statusChangesAll: 'life/',
  statusChanges: (day: string) => `life/${day}/`,
  accountStatusChange: (day: string, accountId: string) => `life/${day}/${accountId}`,
  statusChange: (day: string, accountId: string, appId: string) => `life/${day}/${accountId}/${appId}`,
  /** What was metered: one record an account and night, by month (`YYYY-MM`) and day of the month (`DD`). */
  ledgers: (month: string) => `ledger/${month}/`,
  ledgersOf: (month: string, accountId: string) => `ledger/${month}/${accountId}/`,
  ledger: (month: string, accountId: string, dayOfMonth: string) => `ledger/${month}/${accountId}/${dayOfMonth}`,
  /** The last night that is metered for every account. */
  metered: 'metered',
  /** Prices and currencies, with the instants from which they hold. */
  prices: 'prices',

  /** What a custom resource of Kubernetes stands for, by its UID. */
  bindings: 'kubernetes/',
  binding: (uid: string) => `kubernetes/${uid}`,

  idempotencyRecord: (accountId: string, name: string) => `idem/${accountId}/answer/${name}`,
  idempotencyRecordsAll: 'idem/',
  idempotencySlot: (accountId: string, slot: number) => `idem/${accountId}/slot/${slot}`,

  purges: 'purge/',
  purge: (marker: string) => `purge/${marker}`,
  purgedAll: 'purged/',
  purged: (keyNumber: number) => `purged/${keyNumber}`,
  /** What keys seal, as the leader found it after a rotation. */
  rewrapped: 'rewrapped',
  compaction: 'compaction',
  /** Held by the one that leads; its revision fences every write of a leader. */
  leader: 'leader',
  /** Held by each replica while it lives: what it knows, and what its clock says. */
  replicas: 'replica/',
  replica: (replicaId: string) => `replica/${replicaId}`,
  /** Held while somebody reads an old revision: the history is not compacted past it. */
  pins: 'pin/',
  pin: (pinId: string) => `pin/${pinId}`,
  /** There while a restore is under way: a service refuses to start on what it left. */
  restoring: 'restoring',
  rateWindows: 'rate/',
  rateWindow: (accountId: string) => `rate/${accountId}`,
} as const;

/** A record as it was read: what it says, and the revision a commit may expect. */
export interface Versioned<T> {
  readonly record: T;
  readonly revision: number;
}

/** The counters of an account that has none yet. */
export const NO_COUNTERS: Versioned<CountersRecord> = {
  record: { apps: 0, nextSlot: 0, idempotencyNext: 0 },
  revision: ABSENT,
};

/** The stored text does not have the record's shape: a newer format, or damage. Names the key, never the content. */
export class BadRecord extends Error {
  override readonly name = 'BadRecord';
}

export function parseRecord<T>(schema: z.ZodType<T>, entry: Entry): Versioned<T> {
  let json: unknown;
  try {
    json = JSON.parse(entry.value);
  } catch {
    throw new BadRecord(`The record ${entry.key} is not JSON.`);
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    const places = parsed.error.issues.map((issue) => issue.path.join('.') || '(whole)').join(', ');
    throw new BadRecord(`The record ${entry.key} does not have the expected shape at: ${places}.`);
  }
  return { record: parsed.data, revision: entry.revision };
}

export const put = (key: string, record: object): { put: string; value: string } => ({
  put: key,
  value: JSON.stringify(record),
});
