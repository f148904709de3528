import { pagesOf } from '../../store/pages.ts';
import {
  absentSnapshot,
  COMMIT_OPERATIONS_MAX,
  expectAbsent,
  expectUnchanged,
  isFull,
  snapshotOf,
  type Expectation,
  type Put,
  type Snapshot,
  type Store,
} from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { namesRead } from '../audit/names.ts';
import { generateMarker, type RandomSource } from '../credentials/random-ids.ts';
import type { Listening } from '../devices/listening.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import { auditEntry } from '../mutation/commit.ts';
import { absent, justCommitted, put, replaceable, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { ToldRecord } from '../records/account-records.ts';
import type { WalkedAccount } from '../rollouts/rollout-totals.ts';
import type { ClockWatch } from '../status-history/clock-trust.ts';
import { differenceOf, type Difference } from './levels.ts';
import { StuckRollouts } from './stuck-rollouts.ts';

/*
 * The leader compares what is true of each account with the record of what it has told, and writes the difference as
 * entries of the audit, in one commit with the record (ADR 0084). The comparison is made in the round
 * that counts all rollouts anyway; here the differences wait until they are written.
 */

/** Records of a page: each has some 26 KB at most. */
const PAGE = 50;
/** Accounts and bytes of one commit. */
const ACCOUNTS_PER_COMMIT = 50;
const BYTES_PER_COMMIT = 256 * 1024;
/** The least pause after a commit. It is twice as long as the commit took, if that is more. */
const PAUSE_MS = 50;
const PAUSE_MAX_MS = 1000;
/** Codes are looked at this often: a record has to be read for each app that has one. */
const CODES_EVERY_MS = 10 * 60_000;

/** A round over all accounts. */
interface Comparison {
  account(walked: WalkedAccount): void;
  /** All accounts were given: what was found takes the place of what still waits. */
  ended(): void;
}

/** Tells the transitions of all accounts, for one term of one leader. */
export interface Transitions {
  /**
   * Begins a comparison; undefined while the clock is wrong, and, as long as nothing was ever told, while nobody knows
   * which daemons are silent.
   * @throws StoreUnavailable
   */
  begin(): Promise<Comparison | undefined>;
  /** Writes what waits. @throws StoreUnavailable; what was not written is found again */
  round(signal: AbortSignal): Promise<void>;
}

interface TransitionsDeps {
  readonly store: Pick<Store, 'get' | 'list' | 'commit'>;
  readonly fleet: { readonly memory: FleetMemory };
  readonly clock: Clock;
  readonly clockWatch: Pick<ClockWatch, 'trusted'>;
  readonly random: RandomSource;
  readonly listening: Pick<Listening, 'forMs'>;
  /** As `staleAfterMs()`. */
  readonly staleAfterMs: number;
  readonly accountQuotaMb: number;
}

/** A difference that waits, with the record that it was found against. */
interface Waiting extends Difference {
  readonly accountId: string;
  readonly before: Versioned<ToldRecord | undefined>;
}

/** The records, as this term knows them. */
interface Known {
  /** By account; one that is not here has no record. */
  readonly told: Map<string, Versioned<ToldRecord | undefined>>;
  /** The record of the beginning, which every commit expects as it was read. */
  readonly telling: Snapshot;
  /** Nothing was ever told: what is so now is noted without entries. */
  readonly isFirst: boolean;
}

/** Creates it for a term. @param fence the expectations of every commit of the term */
export function createTransitions(deps: TransitionsDeps, fence: readonly Expectation[]): Transitions {
  const { store, clock } = deps;
  const stuck = new StuckRollouts(clock);
  /** Undefined before the first round, and after a commit of which nobody knows whether it was made. */
  let known: Known | undefined;
  let waiting: Waiting[] | undefined;
  let codesAt = Number.NEGATIVE_INFINITY;

  function comparison(of: Known, judgesSilence: boolean): Comparison {
    const { told, isFirst } = of;
    const startedAt = clock.monotonic();
    const judgesCodes = isFirst || startedAt - codesAt >= CODES_EVERY_MS;
    const found: Waiting[] = [];
    return {
      account(walked) {
        const { id: accountId } = walked.account;
        const before = told.get(accountId);
        // A record that cannot be read is written anew: nothing is told of what was so already.
        const isFresh = isFirst || (before !== undefined && before.record === undefined);
        const isTold = (before?.record?.stuck ?? 0) >= (walked.rollout?.revision ?? 0);
        const isStuck = isFresh ? stuck.isPending(walked) : stuck.isStuck(walked, isTold);
        const { accountQuotaMb } = deps;
        const one = { ...walked, isStuck, judgesSilence, judgesCodes, accountQuotaMb };
        const difference = differenceOf(before?.record, one, isFresh);
        if (!difference) return;
        found.push({ ...difference, accountId, before: before ?? absent(KEYS.told(accountId), undefined) });
      },
      ended() {
        // The records have to be read anew: what was compared may be older than they are.
        if (known !== of) return;
        // Differences that tell nothing come first.
        waiting = found.toSorted((one, other) => one.told.length - other.told.length);
        if (judgesCodes) codesAt = startedAt;
      },
    };
  }

  /** Writes the first of those that wait. */
  async function write(now: Known, batch: readonly Waiting[], signal: AbortSignal): Promise<void> {
    const puts = batch.map(({ accountId, record }) => put(KEYS.told(accountId), record));
    const entries = await entriesOf(deps, batch);
    const startedAt = clock.monotonic();
    try {
      const result = await store.commit({
        expect: [
          expectUnchanged(now.telling),
          ...batch.map(({ before }) => expectUnchanged(before)),
          ...entries.map((entry) => expectAbsent(entry.put)),
          ...fence,
        ],
        write: [...puts, ...entries],
        quiet: true,
      });
      // A conflict is another leader, a restore, or an earlier commit with a lost answer: the records tell.
      if (result.outcome === 'conflict') return forget();
      for (const { accountId, record } of batch) {
        now.told.set(accountId, justCommitted(KEYS.told(accountId), record, result));
      }
    } catch (error) {
      if (!isFull(error)) forget();
      throw error;
    }
    const pauseMs = Math.min(Math.max(PAUSE_MS, 2 * (clock.monotonic() - startedAt)), PAUSE_MAX_MS);
    await clock.sleep(pauseMs, signal);
  }

  function forget(): void {
    known = undefined;
    waiting = undefined;
  }

  async function noteBeginning({ telling }: Known): Promise<void> {
    forget();
    await store.commit({
      expect: [expectUnchanged(telling), ...fence],
      write: [put(KEYS.telling(), { at: clock.now() })],
      quiet: true,
    });
  }

  return {
    async begin() {
      if (!deps.clockWatch.trusted()) return undefined;
      known ??= await readKnown(store);
      const judgesSilence = deps.listening.forMs() >= deps.staleAfterMs;
      if (known.isFirst && !judgesSilence && deps.fleet.memory.accountCount > 0) return undefined;
      return comparison(known, judgesSilence);
    },
    async round(signal) {
      for (let now = known; now && waiting && !signal.aborted; now = known) {
        const left = waiting.filter(({ accountId, before }) => {
          return (now.told.get(accountId) ?? before).revision === before.revision;
        });
        if (left.length === 0) {
          waiting = undefined;
          if (now.isFirst) await noteBeginning(now);
          return;
        }
        waiting = left;
        await write(now, firstOf(left, COMMIT_OPERATIONS_MAX - fence.length - 1), signal);
      }
    },
  };
}

/**
 * Those that one commit has room for, one at least: it has no more entries than `differenceOf` gives. What tells
 * nothing has commits of its own, which a store takes that takes no entries any more.
 */
function firstOf(left: readonly Waiting[], operationsMax: number): readonly Waiting[] {
  const batch: Waiting[] = [];
  let [operations, bytes] = [0, 0];
  for (const one of left) {
    operations += 1 + one.told.length;
    bytes += JSON.stringify(one.record).length;
    const isOver = operations > operationsMax || bytes > BYTES_PER_COMMIT || batch.length === ACCOUNTS_PER_COMMIT;
    const isOther = batch[0]?.told.length === 0 && one.told.length > 0;
    if (isOther || (isOver && batch.length > 0)) break;
    batch.push(one);
  }
  return batch;
}

async function entriesOf({ clock, random, fleet }: TransitionsDeps, batch: readonly Waiting[]): Promise<Put[]> {
  const [at, readName] = [clock.now(), namesRead(fleet.memory)];
  const origin = { actor: 'muster', requestId: generateMarker(random) };
  const steps = batch.flatMap(({ accountId, told }) => told.map((one) => ({ ...one, accountId })));
  return await Promise.all(steps.map(async (step) => await auditEntry(random, origin, step, at, readName)));
}

/** Reads all that was told. @throws StoreUnavailable */
async function readKnown(store: Pick<Store, 'get' | 'list'>): Promise<Known> {
  // It is read first: a leader that begins meanwhile makes the commits of this one conflict.
  const entry = await store.get(KEYS.telling());
  const told = new Map<string, Versioned<ToldRecord | undefined>>();
  for await (const { entries } of pagesOf(store, { prefix: KEYS.told.under(), limit: PAGE })) {
    for (const one of entries) {
      const accountId = one.key.slice(KEYS.told.under().length);
      told.set(accountId, replaceable(KEYS.told, KEYS.told(accountId), one));
    }
  }
  return { told, telling: entry ? snapshotOf(entry) : absentSnapshot(KEYS.telling()), isFirst: entry === undefined };
}
