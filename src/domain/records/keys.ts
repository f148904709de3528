import { CACHED_PREFIX } from '../../store/port.ts';

/* The map of the store: every key that Muster writes. The texts are what lies in the store: they never change. */

const ACCOUNTS = `${CACHED_PREFIX}a/`;

/** The parts of the cached range, each compared with the store on its own; account ids begin with a letter or digit. */
export const CACHED_GROUPS: readonly string[] = [
  ...'abcdefghijklmnopqrstuvwxyz0123456789'.split('').map((first) => `${ACCOUNTS}${first}`),
  `${CACHED_PREFIX}day`,
  `${CACHED_PREFIX}keys`,
  `${CACHED_PREFIX}newcomer`,
  `${CACHED_PREFIX}o`,
  `${CACHED_PREFIX}s/`,
  `${CACHED_PREFIX}u/`,
];

export const KEYS = {
  format: 'format',

  // The cached range: every replica holds it in memory. One account's records lie together.
  accounts: ACCOUNTS,
  account: (accountId: string) => `${ACCOUNTS}${accountId}`,
  apiKeys: (accountId: string) => `${ACCOUNTS}${accountId}/key/`,
  apiKey: (accountId: string, keyId: string) => `${ACCOUNTS}${accountId}/key/${keyId}`,
  apps: (accountId: string) => `${ACCOUNTS}${accountId}/app/`,
  app: (accountId: string, appId: string) => `${ACCOUNTS}${accountId}/app/${appId}`,
  otel: (accountId: string) => `${ACCOUNTS}${accountId}/otel`,
  counters: (accountId: string) => `${ACCOUNTS}${accountId}/tally`,
  lastSeen: (accountId: string) => `${ACCOUNTS}${accountId}/seen`,
  stored: (accountId: string) => `${ACCOUNTS}${accountId}/stored`,
  members: (accountId: string) => `${ACCOUNTS}${accountId}/members`,
  /** The people who use the panel, and their sessions by the hash of the session's token. */
  users: `${CACHED_PREFIX}u/`,
  user: (userId: string) => `${CACHED_PREFIX}u/${userId}`,
  operators: `${CACHED_PREFIX}o`,
  /** The user who was created last. Every creation writes it, and nothing else expects it. */
  newcomer: `${CACHED_PREFIX}newcomer`,
  sessions: `${CACHED_PREFIX}s/`,
  session: (sessionId: string) => `${CACHED_PREFIX}s/${sessionId}`,
  /** The day that status changes are stamped with; no night is metered before it has moved on (M1). */
  day: `${CACHED_PREFIX}day`,
  /** The active key: the key-encryption key that seals from now on. */
  activeKey: `${CACHED_PREFIX}keys`,

  /** Lead from the hash of a name, of a provider's identity or of a passkey's id to its user. */
  login: (hash: string) => `login/${hash}`,
  identity: (hash: string) => `identity/${hash}`,
  passkey: (hash: string) => `passkey/${hash}`,
  /** Links of a single use, by account or `operator`, and the hash of their token; and what tells of a user's sessions and attempts to sign in. */
  links: 'link/',
  linksOf: (scope: string) => `link/${scope}/`,
  link: (scope: string, hash: string) => `link/${scope}/${hash}`,
  sessionUsesAll: 'session-uses/',
  sessionUses: (userId: string) => `session-uses/${userId}`,
  signInsAll: 'sign-ins/',
  signIns: (userId: string) => `sign-ins/${userId}`,
  /** Failed sign-ins by the keyed hashes of names, whether somebody has the name or not. */
  signInNamesAll: 'sign-in-names/',
  signInNames: (record: number) => `sign-in-names/${record}`,
  refreshAll: 'refresh/',
  refresh: (sessionId: string) => `refresh/${sessionId}`,

  /** When the API keys of an account were last used. */
  keyUses: (accountId: string) => `used/${accountId}`,
  /** Leads from a key id to its account. It stays when the key is revoked, since a key id is used once. */
  keyLocator: (keyId: string) => `key/${keyId}`,
  /** Leads from the hash of a credential to its app: every credential ever bound to an app, until that is deleted. */
  credential: (hash: string) => `cred/${hash}`,
  pastAll: 'past/',
  pastCredentials: (appId: string) => `past/${appId}/`,
  pastCredential: (appId: string, hash: string) => `past/${appId}/${hash}`,

  /** What an agent of OpAMP has said of itself. */
  opampAgents: 'opamp/',
  opampAgentsOf: (accountId: string) => `opamp/${accountId}/`,
  opampAgent: (accountId: string, appId: string) => `opamp/${accountId}/${appId}`,
  acks: 'ack/',
  ack: (accountId: string, appId: string) => `ack/${accountId}/${appId}`,
  /** The review queue, by app, so that deleting an app removes its entries by their prefix. */
  reviewQueue: (accountId: string) => `review/${accountId}/`,
  reviews: (accountId: string, appId: string) => `review/${accountId}/${appId}/`,
  review: (accountId: string, appId: string, entryId: string) => `review/${accountId}/${appId}/${entryId}`,
  /** Lists the entries that an app has; whoever adds one writes this record, which keeps their bound exact. */
  reviewIndex: (accountId: string, appId: string) => `reviews/${accountId}/${appId}`,
  /** Failed secrets, by account or `operator`, as they last entered the audit. */
  attemptedAll: 'attempted/',
  attempted: (of: string) => `attempted/${of}`,
  refusalNotes: 'refused/',
  refusalNote: (accountId: string, appId: string) => `refused/${accountId}/${appId}`,

  auditsAll: 'audit/',
  audits: (accountId: string) => `audit/${accountId}/`,
  audit: (accountId: string, at: number, marker: string) =>
    `audit/${accountId}/${at.toString(36).padStart(9, '0')}-${marker}`,

  /** The blocks of the chain over an account's audit; `chain` is its head. */
  seals: (accountId: string) => `seal/${accountId}/`,
  seal: (accountId: string, number: number) => `seal/${accountId}/${String(number).padStart(9, '0')}`,
  chains: 'chain/',
  chain: (accountId: string) => `chain/${accountId}`,

  /** Status changes by day; they outlive their app, so that a night can be metered again. */
  statusChangesAll: 'life/',
  statusChanges: (day: string) => `life/${day}/`,
  accountStatusChange: (day: string, accountId: string) => `life/${day}/${accountId}`,
  statusChange: (day: string, accountId: string, appId: string) => `life/${day}/${accountId}/${appId}`,
  /** The metered nights: one record per account and night, by month (`YYYY-MM`) and day of the month (`DD`). */
  ledgers: (month: string) => `ledger/${month}/`,
  ledgersOf: (month: string, accountId: string) => `ledger/${month}/${accountId}/`,
  ledger: (month: string, accountId: string, dayOfMonth: string) => `ledger/${month}/${accountId}/${dayOfMonth}`,
  /** The last night that is metered for every account. */
  metered: 'metered',
  /** The prices and currencies, each with the instant from which it holds. */
  prices: 'prices',

  /** The bindings of custom resources of Kubernetes, by UID. */
  bindings: 'kubernetes/',
  binding: (uid: string) => `kubernetes/${uid}`,

  /** By account; those of the operator's creates by `operator`, or `operator-` and the account of an API key. */
  idempotencyRecord: (scope: string, name: string) => `idem/${scope}/answer/${name}`,
  idempotencyRecordsAll: 'idem/',
  idempotencyRecords: (scope: string) => `idem/${scope}/`,
  idempotencySlot: (scope: string, slot: number) => `idem/${scope}/slot/${slot}`,
  /** Numbers the records of the operator's creates; those of an account are numbered by its counters. */
  idempotencyRing: (scope: string) => `idem/${scope}/ring`,

  purges: 'purge/',
  purge: (marker: string) => `purge/${marker}`,
  purgedAll: 'purged/',
  purged: (keyNumber: number) => `purged/${keyNumber}`,
  /** Which keys still seal something, as the leader found it after a rotation. */
  rewrapped: 'rewrapped',
  compaction: 'compaction',
  /** The last backup that was sent whole. */
  lastBackup: 'last-backup',
  /** Held by the leader; its revision fences every write of the leader. */
  leader: 'leader',
  /** Held by each replica while it lives; it names the keys and formats that the replica knows, and its clock. */
  replicas: 'replica/',
  replica: (replicaId: string) => `replica/${replicaId}`,
  /** Held while a reader needs an old revision: the history is not compacted past it. */
  pins: 'pin/',
  pin: (pinId: string) => `pin/${pinId}`,
  /** Present while a restore is under way: a service refuses to start on a store that a restore left half written. */
  restoring: 'restoring',
  rateWindows: 'rate/',
  rateWindow: (accountId: string) => `rate/${accountId}`,
  /** Questions of replicas for the ages of revisions, and the answers: gone as soon as they are read. */
  rateAges: 'rate-ages/',
  rateQuestions: (replicaId: string) => `rate-ages/${replicaId}/`,
  rateQuestion: (replicaId: string, nonce: number) => `rate-ages/${replicaId}/${nonce}`,
  /** Windows and questions, for one watch on both. */
  rateShared: 'rate',
} as const;
