import type { Sections } from '../../metrics/instruments/sections.ts';
import {
  type Change,
  COMMIT_OPERATIONS_MAX,
  expectAbsent,
  expectAsFound,
  type Expectation,
  expectUnchanged,
  type Put,
} from '../../store/port.ts';
import { stillBound } from '../devices/authenticate.ts';
import type { AppEntry, FleetReader, FoundApp } from '../fleet/reader.ts';
import { beforeAnotherAttempt, refuseLate } from '../mutation/commit.ts';
import type { MutationDeps, Origin } from '../mutation/step.ts';
import { absent, parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { type ReviewIndex, type ReviewRecord, digestOf } from '../records/review-records.ts';
import { Refusal } from '../refusal.ts';
import { admit } from './capacity.ts';
import { criticalEntry, tellingOf, type CriticalEvents } from './critical-events.ts';
import { cutEvidence, evidenceLevelOf, type EvidenceLevel } from './evidence.ts';

/** A detection as a daemon reports it, within the bounds of limits.ts. */
export interface Detection extends Pick<ReviewRecord, 'at' | 'rule' | 'severity' | 'evidence'> {
  /** The daemon's own id for it, by which repeats are recognised. */
  readonly id: string;
}

export const detectionMetrics = ({ fleet }: Sections) => ({
  detectionsDropped: fleet.counter({
    name: 'muster_detections_dropped_total',
    help: 'Entries of the review queue that were dropped to make room for newer ones of the same app.',
    unit: 'entries',
  }),
});
export type DetectionMetrics = ReturnType<typeof detectionMetrics>;

interface DetectionDeps extends Pick<MutationDeps, 'store' | 'fleet' | 'clock' | 'random'> {
  readonly metrics: MutationDeps['metrics'] & DetectionMetrics;
}

/**
 * Adds detections to the account's review queue, and drops the oldest of the app to make room. An id that is in the
 * queue already changes nothing, so that a daemon whose answer was lost sends the same again. Like an acknowledgement
 * this is a device's own state, and the audit tells of critical events alone.
 * @returns how many are in the queue, by this request or an earlier one: all of them
 * @throws Refusal `invalid_request` for a private device (section 4.10), `invalid_credential` or `account_disabled`
 *   where the app or the account changed since the authentication; Busy; StoreUnavailable, also where the store is
 *   nearly full
 */
export async function takeDetections(
  deps: DetectionDeps,
  found: FoundApp,
  detections: readonly Detection[],
  origin: Origin,
): Promise<number> {
  const pending = new Map<string, Detection>();
  for (const detection of detections) {
    const digest = digestOf(found.app.id, detection.id);
    if (!pending.has(digest)) pending.set(digest, detection);
  }
  // A report is one entry of the audit, however many commits it takes.
  let isTold = false;
  for (let conflicts = 0; pending.size > 0;) {
    refuseLate(deps, origin);
    const round = await planRound(deps, found, { pending, isTold }, origin);
    if (!round) break;
    const { outcome } = await deps.store.commit(round.change);
    if (outcome === 'conflict') {
      conflicts += 1;
      await beforeAnotherAttempt(deps, conflicts, origin.deadline);
      continue;
    }
    deps.metrics.detectionsDropped(round.dropped);
    isTold ||= round.isTold;
    for (const digest of round.settled) pending.delete(digest);
  }
  return detections.length;
}

/** @throws Refusal `invalid_request` for a private device (section 4.10) */
export function refusePrivate({ app }: FoundApp): void {
  if (app.record.connection === 'cloud') return;
  throw new Refusal('invalid_request', 'A private device sends its detections to its own collector, not here.');
}

interface Round {
  readonly change: Change;
  /** Detections that are done: they are in the queue after this commit, or were before. */
  readonly settled: readonly string[];
  readonly dropped: number;
  /** The audit has heard of the critical events of the report. */
  readonly isTold: boolean;
}

/** The detections of a report that are not done. */
interface Left {
  readonly pending: ReadonlyMap<string, Detection>;
  readonly isTold: boolean;
}

/** Plans one commit for as many pending detections as fit; undefined where all of them are in the queue already. */
async function planRound(
  deps: DetectionDeps,
  found: FoundApp,
  { pending, isTold }: Left,
  origin: Origin,
): Promise<Round | undefined> {
  const index = await indexOf(deps, found.account.id, found.app.id);
  const { reader, app, level, expect } = await reliedOn(deps, found);
  const known = new Set(index.record.entries.map(([digest]) => digest));
  const fresh = [...pending].filter(([digest]) => !known.has(digest));
  if (fresh.length === 0) return undefined;

  const entries = fresh.map(([digest, detection]) => entryOf(app, digest, detection, level, origin.at));
  const critical = isTold ? undefined : criticalOf(fresh.map(([, detection]) => detection));
  const admitted = admit(index.record, entries, COMMIT_OPERATIONS_MAX - (critical ? 1 : 0));
  const { index: next, taken, dropped } = admitted;
  const tells = critical !== undefined && taken.some(({ isCritical }) => isCritical);
  const telling = tells ? tellingOf(index.record, critical, origin.at) : undefined;
  const told =
    critical && telling?.count !== undefined
      ? [await criticalEntry({ ...deps, reader }, app, origin, { count: telling.count, rule: critical.rule })]
      : [];
  const indexKey = KEYS.reviewIndex(app.accountId, app.id);
  return {
    change: {
      expect: [expectUnchanged(index), ...expect, ...told.map((entry) => expectAbsent(entry.put))],
      write: [
        put(indexKey, telling ? { ...next, critical: telling.critical } : next),
        ...told,
        ...taken.map(({ write }) => write),
        ...dropped.map((digest) => ({ remove: KEYS.review(app.accountId, app.id, digest) })),
      ],
      quiet: true,
    },
    // A repeat is done, even where this commit drops the entry that it repeats: it must not come back as a new entry.
    settled: [...taken.map(({ digest }) => digest), ...[...pending.keys()].filter((digest) => known.has(digest))],
    dropped: dropped.length,
    isTold: tells,
  };
}

function criticalOf(fresh: readonly Detection[]): CriticalEvents | undefined {
  const [first, ...others] = fresh.filter(({ severity }) => severity === 'critical');
  return first && { count: 1 + others.length, rule: first.rule };
}

interface ReliedOn {
  readonly reader: FleetReader;
  readonly app: AppEntry;
  readonly level: EvidenceLevel;
  readonly expect: readonly Expectation[];
}

/**
 * Checks that the app may still send, and how much evidence; the commit must expect `expect`, so that both still hold.
 */
async function reliedOn(deps: DetectionDeps, found: FoundApp): Promise<ReliedOn> {
  const reader = await deps.fleet.current();
  const { account, app } = await stillBound(reader, found.app);
  refusePrivate({ account, app });
  const otel = await account.otel();
  return {
    reader,
    app,
    level: evidenceLevelOf(account.record, otel),
    expect: [expectUnchanged(account), expectUnchanged(app), expectAsFound(KEYS.otel(account.id), otel)],
  };
}

async function indexOf(deps: DetectionDeps, accountId: string, appId: string): Promise<Versioned<ReviewIndex>> {
  const key = KEYS.reviewIndex(accountId, appId);
  const entry = await deps.store.get(key);
  return entry ? parseRecord(KEYS.reviewIndex, entry) : absent(key, { entries: [], dropped: 0 });
}

interface Incoming {
  readonly digest: string;
  readonly bytes: number;
  readonly isCritical: boolean;
  readonly write: Put;
}

/** Makes the entry as it is stored: its evidence is cut to the level here. */
function entryOf(app: AppEntry, digest: string, detection: Detection, level: EvidenceLevel, now: number): Incoming {
  const { at, rule, severity } = detection;
  const evidence = cutEvidence(detection.evidence, level);
  const review: ReviewRecord = { at, receivedAt: now, rule, severity, evidence, status: 'open' };
  const write = put(KEYS.review(app.accountId, app.id, digest), review);
  return { digest, bytes: Buffer.byteLength(write.value), isCritical: severity === 'critical', write };
}
