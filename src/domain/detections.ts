import { ABSENT, COMMIT_OPERATIONS_MAX, type Change } from '../store/port.ts';
import type { ControllerMetrics } from '../controller-metrics.ts';
import { stillBound } from './device-plane.ts';
import { cutEvidence, evidenceLevelOf } from './evidence.ts';
import type { FoundApp } from './fleet-reader.ts';
import { LIMITS } from './limits.ts';
import { beforeAnotherAttempt, refuseGrowthWhenFull, refuseLate, type MutationDeps, type Origin } from './mutation.ts';
import { KEYS, parseRecord, put, type Versioned } from './records.ts';
import { Refusal } from './refusal.ts';
import { digestOf, reviewIndexSchema, type ReviewIndex, type ReviewRecord } from './review-records.ts';

/** What a daemon saw, within the bounds of limits.ts. */
export interface Detection extends Pick<ReviewRecord, 'at' | 'rule' | 'severity' | 'evidence'> {
  /** The daemon's own name for it, by which repeats are known. */
  readonly id: string;
}

export interface DetectionDeps extends Pick<MutationDeps, 'store' | 'fleet' | 'clock' | 'draw'> {
  readonly metrics: MutationDeps['metrics'] & Pick<ControllerMetrics, 'detectionsDropped'>;
}

/**
 * Takes detections into the account's review queue; the oldest of the app make room. An id that is there already
 * changes nothing, so a daemon whose answer was lost sends the same again. A device's own state, like an
 * acknowledgement: there is no audit entry.
 * @returns how many are in the queue now because of this request or an earlier one: all of them
 * @throws Refusal `invalid_request` for a private device (section 4.10), `invalid_credential` or `account_disabled`
 * where that came to be since; StoreUnavailable, also where the store is nearly full
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
  for (let conflicts = 0; pending.size > 0;) {
    refuseLate(deps, origin);
    const round = await planRound(deps, found, pending, origin);
    if (!round) break;
    const { outcome } = await deps.store.commit(round.change);
    if (outcome === 'conflict') {
      conflicts += 1;
      await beforeAnotherAttempt(deps, conflicts, origin.deadline);
      continue;
    }
    deps.metrics.detectionsDropped(round.dropped);
    for (const digest of round.taken) pending.delete(digest);
  }
  return detections.length;
}

export function refusePrivate({ app }: FoundApp): void {
  if (app.record.connection === 'cloud') return;
  throw new Refusal('invalid_request', 'A private device sends its detections to its own collector, not here.');
}

interface Round {
  readonly change: Change;
  readonly taken: readonly string[];
  readonly dropped: number;
}

/** What one commit can hold of the pending; undefined where all of them are in the queue already. */
async function planRound(
  deps: DetectionDeps,
  found: FoundApp,
  pending: ReadonlyMap<string, Detection>,
  origin: Origin,
): Promise<Round | undefined> {
  const index = await indexOf(deps, found.account.id, found.app.id);
  const { account, app } = await stillBound(await deps.fleet.current(), found.app);
  // Memory lives on: what the commit expects of the account and what is decided by it are taken in one moment.
  const { record, revision } = account;
  if (record.disabled) throw new Refusal('account_disabled');
  refusePrivate({ account, app });
  const otel = await account.otel();
  const known = new Set(index.record.entries.map(([digest]) => digest));
  const fresh = [...pending].filter(([digest]) => !known.has(digest));
  if (fresh.length === 0) return undefined;
  refuseGrowthWhenFull(deps.store);

  const level = evidenceLevelOf(record, otel);
  const entries = fresh.map(([digest, { at, rule, severity, evidence }]): Incoming => {
    // Cut here, before it is stored, by the level that the commit expects to be the account's still.
    const review: ReviewRecord = {
      at,
      receivedAt: origin.at,
      rule,
      severity,
      evidence: cutEvidence(evidence, level),
      status: 'open',
    };
    const write = put(KEYS.review(account.id, app.id, digest), review);
    return { digest, bytes: Buffer.byteLength(write.value), write };
  });
  const { index: next, taken, dropped } = admit(index.record, entries);
  return {
    change: {
      expect: [
        { key: KEYS.account(account.id), revision },
        { key: KEYS.app(account.id, app.id), revision: app.revision },
        { key: KEYS.otel(account.id), revision: otel?.revision ?? ABSENT },
        { key: KEYS.reviewIndex(account.id, app.id), revision: index.revision },
      ],
      write: [
        put(KEYS.reviewIndex(account.id, app.id), next),
        ...taken.map(({ write }) => write),
        ...dropped.map((digest) => ({ remove: KEYS.review(account.id, app.id, digest) })),
      ],
      quiet: true,
    },
    taken: taken.map(({ digest }) => digest),
    dropped: dropped.length,
  };
}

async function indexOf(deps: DetectionDeps, accountId: string, appId: string): Promise<Versioned<ReviewIndex>> {
  const entry = await deps.store.get(KEYS.reviewIndex(accountId, appId));
  return entry ? parseRecord(reviewIndexSchema, entry) : { record: { entries: [], dropped: 0 }, revision: ABSENT };
}

interface Incoming {
  readonly digest: string;
  readonly bytes: number;
  readonly write: ReturnType<typeof put>;
}

/**
 * Which of the incoming entries one commit takes, in their order, and which of the oldest make room for them. Where an
 * entry needs more room than one commit can make, that commit only drops.
 * @param operationsMax of one commit; one of them writes the index
 */
export function admit<Entry extends { readonly digest: string; readonly bytes: number }>(
  index: ReviewIndex,
  incoming: readonly Entry[],
  operationsMax: number = COMMIT_OPERATIONS_MAX,
): { readonly index: ReviewIndex; readonly taken: readonly Entry[]; readonly dropped: readonly string[] } {
  const taken: Entry[] = [];
  let dropCount = 0;
  let count = index.entries.length;
  let bytes = index.entries.reduce((sum, [, size]) => sum + size, 0);
  const room = (): number => operationsMax - 1 - taken.length - dropCount;
  for (const entry of incoming) {
    while (
      (count + 1 > LIMITS.reviewEntriesPerAppMax || bytes + entry.bytes > LIMITS.reviewBytesPerAppMax) &&
      dropCount < index.entries.length &&
      room() > 0
    ) {
      bytes -= index.entries[dropCount]?.[1] ?? 0;
      count -= 1;
      dropCount += 1;
    }
    if (room() === 0) break;
    taken.push(entry);
    count += 1;
    bytes += entry.bytes;
  }
  const kept = index.entries.slice(dropCount);
  return {
    index: {
      ...index,
      entries: [...kept, ...taken.map(({ digest, bytes }): [string, number] => [digest, bytes])],
      dropped: index.dropped + dropCount,
    },
    taken,
    dropped: index.entries.slice(0, dropCount).map(([digest]) => digest),
  };
}
