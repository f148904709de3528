import { DAY_MS } from '../time/utc-days.ts';

/**
 * The bounds of the service, by name: section 8 of docs/CONTRACT.md has the same table, and a test compares the two.
 */

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

export const LIMITS = {
  appsPerAccountMax: 1000,
  /** Apps in one request of the panel that changes many. */
  appsPerBatchMax: 100,
  nameCodePointsMax: 100,
  endpointCharactersMax: 2048,
  authHeaderCharactersMax: 8192,
  requestBodyBytesMax: 65_536,

  requestsPerWindowMax: 600,
  rateWindowMs: MINUTE_MS,

  enrollCodeValidMs: 30 * DAY_MS,
  /** A5: a further code voids the oldest. */
  openCodesPerAppMax: 20,
  /** The last codes that were once valid are kept, to name the reason of a refusal. */
  spentCodesPerAppMax: 20,
  /** On the device plane the same code with the same hash is answered again for this long. */
  enrollReplayMs: 15 * MINUTE_MS,
  /** Past credentials removed in the commit that removes their app; older ones follow in commits of their own. */
  pastCredentialsPerCommitMax: 90,

  /** A message of OpAMP, inflated; a compressed one on its way. */
  opampMessageBytesMax: 1_048_576,
  opampCompressedBytesMax: 262_144,
  /** Messages of OpAMP that a replica waits for or inflates, in bytes all in all. */
  opampBytesMax: 67_108_864,
  /** An agent is asked for its full state at most this often. */
  opampFullStateEveryMs: 10 * MINUTE_MS,
  opampTemplateBytesMax: 65_536,

  deviceTextCharactersMax: 128,
  ackErrorCharactersMax: 512,
  /** Tags of `If-None-Match` or `If-Match` that are looked at. */
  entityTagsMax: 64,
  pollWaitSecondsMax: 50,
  heldPollsMax: 50_000,
  /** A further poll of a credential ends its oldest. */
  heldPollsPerCredentialMax: 2,
  /** An account gives up no held poll for those of others while it has no more than this. */
  heldPollsPerAccountMin: 2000,
  /** Devices that wait for the same event go on in pieces of this many per turn of the event loop. */
  devicesPerTurnMax: 32,
  /**
   * Bytes that the bodies may have which a replica waits for at once, those of enrollments and all others apart: a fair
   * part of the memory that the chart gives it.
   */
  bodyBytesAwaitedMax: 64 * 1024 * 1024,
  /**
   * Bytes of long answers that clients without a credential have not taken, in the process and in the kernel, on all
   * listeners of a replica.
   */
  owedBytesMax: 64 * 1024 * 1024,
  /** The bytes of all others. Their bodies are seldom the same, and cost the process twice until they are collected. */
  owedToKnownBytesMax: 32 * 1024 * 1024,
  /** The kernel is taken to hold no more than this of a connection: `net.ipv4.tcp_wmem` has it as its default. */
  kernelBytesPerConnectionMax: 4 * 1024 * 1024,
  /** A shorter answer of the panel is one packet in any case, and is not compressed. */
  compressedBytesMin: 1024,
  /** A client that reads no slower than this is not given up: 256 kbit/s. */
  leastBytesPerSecond: 32_768,
  /** A client that has had the time for what the kernel took, and takes nothing for so long, is given up. */
  untakenMs: 10 * SECOND_MS,
  /** Devices that the store itself authenticates at once, while memory is behind it; the others are told to retry. */
  deviceStoreReadsMax: 256,
  /** The least time between two updates of an app's platform and agent version, however often a daemon changes them. */
  reportedVersionEveryMs: HOUR_MS,
  /** Machines that take turns on one credential within so long share it. */
  sharingWindowMs: 10 * MINUTE_MS,
  /** Takers of one credential that are told apart in that time. */
  sharingTakersMax: 8,
  /** Credentials that a replica remembers the turns of; those of all others have one sender. */
  sharingSuspectsMax: 10_000,
  /** Senders of an account that replicas tell each other. */
  sharingSendersMax: 64,
  /** Findings that a replica writes at once; the others are found anew after a minute. */
  sharingToldAtOnceMax: 16,

  detectionsPerRequestMax: 100,
  detectionNameCharactersMax: 128,
  /** Longer evidence is cut. */
  redactedCodePointsMax: 2048,
  fullCodePointsMax: 4096,
  /** Entries of one app in the review queue; then the oldest go. Two requests fit, so a repetition finds the first. */
  reviewEntriesPerAppMax: 200,
  reviewBytesPerAppMax: 262_144,
  reviewNoteCodePointsMax: 500,
  /** Entries of the audit about critical events of an app in an hour; the next one counts what comes then. */
  criticalToldPerHour: 10,
  rolloutFailuresMax: 20,
  /** Of the configuration of an account. It never changes: the slots of the stored ones follow from it. */
  otelRevisionsMax: 50,
  /** Days of an account's fleet that are kept. It never changes: the slots of the stored days follow from it. */
  fleetHistoryDays: 90,
  /** Points of one answer about it. */
  fleetHistoryPointsMax: 400,

  /** A test of the collector: the time of the whole request, and the least time between two of an account. */
  collectorTestDeadlineMs: 10 * SECOND_MS,
  collectorTestEveryMs: 10 * SECOND_MS,
  /** Calls of a replica to addresses that owners choose. */
  egressCallsMax: 16,
  /** The time of one, from the name to the end of the answer. */
  egressCallMs: 5 * SECOND_MS,
  /** Addresses of a name that are looked at. */
  egressAddressesMax: 32,
  /** An answer is read so far, and dropped. */
  egressAnswerBytesMax: 65_536,

  idempotencyKeptMs: DAY_MS,
  idempotencyKeptPerAccountMax: 1000,
  /** The bound of a restricted API key, apart from that of its account. */
  idempotencyKeptPerKeyMax: 100,
  /** Kept answers to batches of apps; each holds those of up to 100 apps. */
  batchesKeptPerAccountMax: 50,

  accountNameCodePointsMax: 200,
  apiKeysPerAccountMax: 200,
  /** So long the secret of an API key works beside the next one, by default and at most. */
  keyGraceSeconds: 86_400,
  keyGraceSecondsMax: 604_800,
  keyCidrsMax: 20,
  /** The panel's overview names the API keys that expire within this time, and the audit tells of them. */
  keyExpiryShownMs: 14 * 86_400_000,
  /** An open code is told of so long before its end. */
  codeExpiringMs: 72 * HOUR_MS,
  /** A rollout is stuck where daemons that poll have not said after this what they did with the revision. */
  rolloutStuckMs: HOUR_MS,
  /** More transitions of a kind, in an account at once, are one entry of the audit with their count. */
  transitionsToldSinglyMax: 20,
  /** Names in one request of API keys that go on where their maker goes. */
  keptKeysMax: 500,
  usersMax: 10_000,
  /** Users who came by the invitations of one account. */
  invitedUsersPerAccountMax: 500,
  /** A consent that a custom resource adopts something, or takes up what was bound to a former UID. */
  consentMs: 7 * DAY_MS,
  /** Bindings that one page of the operator API looks at, of whatever namespace. */
  bindingsLookedAtMax: 5000,
  /** A user who never had a role goes after so long without a sign-in or a link. */
  rolelessKeptMs: 7 * DAY_MS,
  userNameCodePointsMax: 100,
  loginCharactersMax: 254,
  passwordCharactersMin: 12,
  passwordCharactersMax: 512,
  /** Characters behind them are not judged: the work grows with the square of the length, and faster. */
  passwordCharactersJudged: 128,
  /** Each holds 19 MiB of memory and a thread while it is hashed. */
  passwordsHashedMax: 2,
  passwordsWaitingMax: 32,
  /** Attempts that wait for the store before it, as a multiple of these places and of their shares. */
  passwordRoomsPerPlace: 4,
  /** Strangers have so many of the places of both, and one network of theirs (/32, /64, /56; /24, /48) so many. */
  passwordsOfStrangersMax: 17,
  passwordsPerMachineMax: 2,
  passwordsPerNetworkMax: 3,
  /** A user has so many in known browsers, and so many in sessions. */
  passwordsPerKnownMax: 2,
  /** Failed passwords of a name after which it has one turn in each `signInTurnMs`, for those who waited as told. */
  slowFromFailures: 5,
  signInFailuresHalfLifeMs: 15 * MINUTE_MS,
  signInTurnMs: 12 * SECOND_MS,
  /** The first seconds of a turn, for those with a ticket around whose network nobody has failed at the name. */
  signInTurnFirstMs: 3 * SECOND_MS,
  signInWaitMsMin: 5 * SECOND_MS,
  /** A turn that was told is kept so long for whoever comes late. */
  signInTurnKeptMs: 60 * SECOND_MS,
  /** The wait of one network at a name doubles with each failure, to this at most. */
  signInDelayMsMax: 300 * SECOND_MS,
  /** The hashes of names under which failures are counted, over all replicas; a commit of them at most so often. */
  signInNamesCounted: 4096,
  signInCountsEveryMs: SECOND_MS,
  /** Networks at names that a replica remembers. */
  signInNetworksMax: 20_000,
  /** Challenges, links and ways to the provider that one address asks for, each; no secret can be guessed by them. */
  signInAsksPerAddressPerMinute: 600,
  knownBrowsersPerUserMax: 10,
  knownBrowserMs: 90 * DAY_MS,
  /** Failed passwords in a known browser after which it is a stranger's. */
  knownBrowserFailuresMax: 10,
  /** Users who are known by one browser. */
  usersPerBrowserMax: 5,
  /** Entries of failed sign-ins that a user sees, and how long the last of them are kept. */
  refusedSignInsListedMax: 20,
  refusedSignInsKeptMs: 90 * DAY_MS,
  passkeysPerUserMax: 20,
  /** Answers of passkeys that a user's record remembers; one more is refused until the oldest is too old. */
  passkeyAnswersKeptMax: 100,
  /** No less than a challenge is good for, 10 minutes, by a replica whose clock is as far behind. */
  passkeyAnswerKeptMs: 20 * MINUTE_MS,
  /** The additions of each kind to a user's ways in, as the user sees it; no less than the passkeys of a user. */
  additionsKeptMax: 20,
  identitiesPerUserMax: 5,
  firstLinkMs: 10 * MINUTE_MS,
  invitationMs: 72 * 60 * MINUTE_MS,
  resetMs: 60 * MINUTE_MS,
  invitationsPerAccountMax: 100,
  invitationNoteCodePointsMax: 200,
  /** A session of the provider ends this long after its roles could be renewed last. */
  mappedRolesMs: 60 * MINUTE_MS,
  groupsMax: 500,
  /** The time of a request that asks the provider: discovery and tokens take 5 s each at most. */
  providerDeadlineMs: 15 * SECOND_MS,
  membersPerAccountMax: 200,
  operatorsMax: 100,
  sessionsPerUserMax: 20,
  accessTokensPerUserMax: 20,
  /** The life of an access token for which no expiry is given, and of any at most. */
  accessTokenMs: 30 * DAY_MS,
  accessTokenMsMax: 365 * DAY_MS,
  accessTokenNameCodePointsMax: 100,
  /** The age of a proof by which a further way in is made (A18). */
  freshProofMs: 10 * MINUTE_MS,
  /** A proof of so much later than now is of a clock that cannot be right. */
  proofAheadMs: MINUTE_MS,
  /** The last use of a session is written at most this late; idle sessions are judged by it. */
  sessionUsesEveryMs: 2 * MINUTE_MS,
  browserCharactersMax: 80,
  /** Changes of a user in one account, or in none, on a replica: a guard, not a contract. */
  panelRequestsPerMinute: 300,
  /** Batches of apps, which are counted for themselves. */
  panelBatchesPerMinute: 60,
  /** What the pages of a session read on a replica. */
  panelReadsPerMinute: 1200,
  /** Streams of live events on a replica, and accounts that one of them follows. */
  eventStreamsMax: 1000,
  eventStreamsPerUserMax: 20,
  accountsPerStreamMax: 10,
  /** Values that memory does not hold are read once for all viewers of an account, at most this often. */
  watchedReadsEveryMs: 5 * SECOND_MS,
  listPageMax: 1000,
  auditPageMax: 200,
  /** Records that a read of an audit may cost; a user is charged a change for a page that reads more of them. */
  auditRecordsPerRead: 1000,
  /** Entries of an audit in one file that the panel exports; one that is cut says so in its last line. */
  auditExportEntriesMax: 50_000,
  /** The name of an actor or a target in an entry of the audit, in UTF-8; a longer one is cut. */
  auditNameBytesMax: 400,
  /** The names that the filters of an audit are offered by, and the entries that are looked at for them. */
  auditNamesMax: 500,
  auditNamesLookedAtMax: 1000,
  /** The entries that are read at once by what follows all audits; one that is larger is read alone. */
  auditPortionBytesMax: 4 * 1024 * 1024,
  listPageDefault: 100,

  heartbeatFlushMs: 10 * SECOND_MS,
  heartbeatFlushMaxMs: 60 * SECOND_MS,
  heartbeatRoundBytesMax: 1_048_576,
  /** The time of the last round when the process stops; with the drain before it, within the 30 s of Kubernetes. */
  heartbeatFinishMs: 5 * SECOND_MS,

  /** A12: from this fullness of the store on, callers can only take access away or free space. */
  storeFullnessMax: 0.8,
  /** From this fullness on the service does not write its own bounded records either, like nights and last contacts. */
  storeUpkeepFullnessMax: 0.95,
  /** The largest quota of an account, in MiB. */
  accountQuotaMbMax: 1_000_000,
  /** The changes that a person makes of themselves, or exports, of each kind in a replica: at once, and an hour. */
  ownChangesBurst: 50,
  ownChangesPerHour: 2,
  /** The same of sign-ins that succeed. */
  ownSignInsBurst: 200,
  ownSignInsPerHour: 10,
  /** A16: from this part of its quota on, the people of an account are warned. */
  quotaWarnedFrom: 0.8,
  /** It is told again that an account is near its quota once it was below this part. */
  quotaWarnedAgainBelow: 0.75,

  /** A request is answered by then, whatever the store does (H15). */
  requestDeadlineMs: 1900,
  /** The time of a whole report of usage: it is read in many steps, and each has the time of a request. */
  usageDeadlineMs: 30 * SECOND_MS,
  /** The time of one call of a remote store: an outage is known before the request's own time is up. */
  storeDeadlineMs: 1800,
  conflictAttemptsMax: 24,
  mergedMutationsMax: 60,
} as const;

/** The times after which an operation has failed, in milliseconds. */
export interface Deadlines {
  /** The time for everything that a request asks of the store (H15). */
  readonly requestMs: number;
  /** The time for one call of a remote store. */
  readonly storeMs: number;
}

/** The deadlines of production. */
export const DEADLINES: Deadlines = { requestMs: LIMITS.requestDeadlineMs, storeMs: LIMITS.storeDeadlineMs };
