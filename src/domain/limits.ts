import { DAY_MS } from '../time/utc-days.ts';

/** The bounds of the service, by name: section 8 of docs/CONTRACT.md has the same table, and a test compares the two. */

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

export const LIMITS = {
  appsPerAccountMax: 1000,
  nameCodePointsMax: 100,
  endpointCharactersMax: 2048,
  authHeaderCharactersMax: 8192,
  requestBodyBytesMax: 65_536,

  requestsPerWindowMax: 600,
  rateWindowMs: MINUTE_MS,

  enrollCodeValidMs: 30 * DAY_MS,
  /** A5: a further code voids the oldest. */
  openCodesPerAppMax: 20,
  /** Codes that were once valid are remembered so long as the app has no newer ones: enough to name a refusal's reason. */
  spentCodesPerAppMax: 20,
  /** Device plane: the same code with the same hash answers again. */
  enrollReplayMs: 15 * MINUTE_MS,
  /** Past credentials removed in the commit that removes their app; older ones follow in commits of their own. */
  pastCredentialsPerCommitMax: 90,

  deviceTextCharactersMax: 128,
  ackErrorCharactersMax: 512,
  pollWaitSecondsMax: 50,
  heldPollsMax: 50_000,
  /** What many devices wait for together goes on in pieces of so many in a turn of the event loop. */
  devicesPerTurnMax: 32,
  /** Devices that are authenticated by the store itself at once, while memory is behind it; the others come again. */
  deviceStoreReadsMax: 256,
  /** At most one update of platform and agent version per app and this time, however often a daemon changes them. */
  reportedVersionEveryMs: 5 * MINUTE_MS,

  detectionsPerRequestMax: 100,
  detectionNameCharactersMax: 128,
  /** Longer evidence is cut. */
  redactedCodePointsMax: 2048,
  fullCodePointsMax: 4096,
  /** Of one app in the review queue; then its oldest go. Twice a request's at least, so that a repeat finds the first. */
  reviewEntriesPerAppMax: 200,
  reviewBytesPerAppMax: 262_144,
  reviewNoteCodePointsMax: 500,
  rolloutFailuresMax: 20,

  idempotencyKeptMs: DAY_MS,
  idempotencyKeptPerAccountMax: 1000,

  accountNameCodePointsMax: 200,
  apiKeysPerAccountMax: 200,
  listPageMax: 1000,
  listPageDefault: 100,

  heartbeatFlushMs: 10 * SECOND_MS,
  heartbeatFlushMaxMs: 60 * SECOND_MS,
  heartbeatRoundBytesMax: 1_048_576,
  /** Of the last round, when the process stops: with the drain before it, within the 30 s that Kubernetes gives. */
  heartbeatFinishMs: 5 * SECOND_MS,

  /** From here on what grows the store is refused, so that revoke, delete and purge still go through. */
  storeFullnessMax: 0.8,
  /** A request is answered by then, whatever the store does (H15). */
  requestDeadlineMs: 1900,
  /** Of a month's usage, all in all: it is read in many steps, and each of them has the time of a request. */
  usageDeadlineMs: 30 * SECOND_MS,
  /** Of one call of a remote store: an outage is told before the request's own time is up. */
  storeDeadlineMs: 1800,
  /** Of a long answer in pieces: the client that takes none for so long is given up. */
  streamStalledMs: 30 * SECOND_MS,
  conflictAttemptsMax: 24,
  mergedMutationsMax: 60,
} as const;

/** How long is waited before it is an outage, in milliseconds. */
export interface Deadlines {
  /** For all that a request asks of the store (H15). */
  readonly requestMs: number;
  /** For one call of a remote store. */
  readonly storeMs: number;
}

export const DEADLINES: Deadlines = { requestMs: LIMITS.requestDeadlineMs, storeMs: LIMITS.storeDeadlineMs };
