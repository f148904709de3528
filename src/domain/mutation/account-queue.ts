import { RecentMap } from '../../packed/recent-map.ts';
import { expectUnchanged } from '../../store/port.ts';
import { namesRead } from '../audit/names.ts';
import { PlanReader } from '../fleet/plan-reader.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { refuseWithoutRoom } from '../fullness/write-class.ts';
import { LIMITS } from '../limits.ts';
import { put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { CountersRecord } from '../records/account-records.ts';
import { Refusal } from '../refusal.ts';
import { beforeAnotherAttempt, commitSteps, committed, refuseLate } from './commit.ts';
import { CommitRoom } from './commit-room.ts';
import { writeClassOf } from './actions.ts';
import {
  isUnchanged,
  stepsOf,
  withParts,
  type LeadingStep,
  type MutationDeps,
  type Origin,
  type Unchanged,
} from './step.ts';

/*
 * Creates and deletes of one account all write its counters, the record that makes the limit of 1000 apps exact (A10).
 * Without a queue, 64 creates at once would conflict 64 times. So each process queues those of one account and commits
 * all that wait together, one commit at a time. Those of different processes still conflict, and try again.
 *
 * The first attempt plans with the reader that authenticated the request, so that a create reads `head` once. A commit
 * expects every record that its plan read: where that reader was too old, the commit conflicts and the next attempt
 * asks for a reader anew. A result without a commit (a refusal, a replayed answer) is proved by no expectation: it
 * counts only where the reader was asked for after the request had come into the queue (A12).
 */

/** A step that also writes the counters of its account. */
export interface CountersStep<T> extends LeadingStep<T> {
  readonly counters: CountersRecord;
}

/** As `Plan`; the counters are those that the steps before it in the same commit leave. */
export type CountersPlan<T> = (
  reader: FleetReader,
  counters: CountersRecord,
) => Promise<CountersStep<T> | Unchanged<T>>;

/**
 * Commits a change that writes the counters of an account, together with others that wait.
 * @param reader the reader that authenticated the request, for the first attempt
 * @returns what the plan decided
 * @throws Refusal from the plan, `invalid_key` where the account does not exist; StaleRead; StoreUnavailable, Busy
 */
export type AccountQueues = <T>(
  accountId: string,
  origin: Origin,
  plan: CountersPlan<T>,
  reader?: FleetReader,
) => Promise<T>;

interface Member {
  readonly origin: Origin;
  readonly plan: CountersPlan<unknown>;
  /** Absent where the member needs a reader that is asked for anew. */
  readonly reader: FleetReader | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Planned {
  readonly member: Member;
  readonly step: CountersStep<unknown>;
}

/** Accounts whose last commit is remembered; one that is forgotten may cost a conflict, and nothing else. */
const LAST_COMMITS_MAX = 1000;

/** Makes the queues: one per account, which is removed when it is empty. */
export function createAccountQueues(deps: MutationDeps): AccountQueues {
  const queues = new Map<string, Member[]>();
  /** Revisions of the last commits of this process by account, the oldest first. */
  const lastCommits = new RecentMap<string, number>(LAST_COMMITS_MAX);

  async function serve(accountId: string, waiting: Member[]): Promise<void> {
    // Members that arrive in the same turn of the event loop share the first commit.
    await Promise.resolve();
    while (waiting.length > 0) {
      const members = waiting.splice(0, LIMITS.mergedMutationsMax);
      const revision = await commitTogether(deps, accountId, members, waiting, lastCommits.get(accountId) ?? 0);
      if (revision !== undefined) lastCommits.set(accountId, revision);
    }
    queues.delete(accountId);
  }

  return <T>(accountId: string, origin: Origin, plan: CountersPlan<T>, reader?: FleetReader): Promise<T> => {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // A member's promise resolves to what its own plan decided; the queue does not read it.
    const member: Member = { origin, plan, reader, resolve: (result) => resolve(result as T), reject };
    const waiting = queues.get(accountId);
    if (waiting) waiting.push(member);
    else {
      const own = [member];
      queues.set(accountId, own);
      void serve(accountId, own);
    }
    return promise;
  };
}

/**
 * Settles every member, or puts it back to wait; never throws.
 * @param lastCommit the revision of this process's last commit of the account, 0 where it is not known
 * @returns the revision of the commit, if there was one
 */
async function commitTogether(
  deps: MutationDeps,
  accountId: string,
  members: readonly Member[],
  waiting: Member[],
  lastCommit: number,
): Promise<number | undefined> {
  let left = members;
  try {
    for (let attempt = 1; ; attempt += 1) {
      const handed = attempt === 1 ? sharedReader(left) : undefined;
      const read = await readAccount(deps, accountId, handed, lastCommit);
      const { planned, deferred } = await planMembers(deps, read, left);
      waiting.unshift(...deferred);
      const last = planned.at(-1);
      if (!last || !read.counters) return undefined;
      left = planned.map(({ member }) => member);
      const steps = planned.flatMap(({ member: { origin }, step: of }) =>
        stepsOf(of).map((step) => ({ origin, step })),
      );
      const revision = await commitSteps(deps, steps, namesRead(read.reader), {
        expect: [expectUnchanged(read.counters)],
        write: [put(KEYS.counters(accountId), last.step.counters)],
      });
      if (revision !== 'conflict') {
        settle(deps, planned);
        return revision;
      }
      await beforeAnotherAttempt(deps, attempt, Math.max(...left.map(({ origin }) => origin.deadline)));
    }
  } catch (error) {
    for (const member of left) member.reject(error);
    return undefined;
  }
}

function settle(deps: MutationDeps, planned: readonly Planned[]): void {
  for (const { member, step } of planned) {
    for (const one of stepsOf(step)) committed(deps, member.origin, one);
    member.resolve(step.result);
  }
}

/** The reader that all members bring: it is as new as the youngest of them needs. */
function sharedReader(members: readonly Member[]): FleetReader | undefined {
  const reader = members[0]?.reader;
  return members.every((member) => member.reader === reader) ? reader : undefined;
}

/** The records that an attempt plans with. */
interface AccountRead {
  /** All members of the attempt plan with it, so that each record is one and the same for all of them. */
  readonly reader: PlanReader;
  /** It is as new as the store was when the attempt began. */
  readonly isCurrent: boolean;
  /** Undefined where there is no such account. */
  readonly counters: Versioned<CountersRecord> | undefined;
}

/** Reads the account with the reader that was handed over, unless that is older than the last commit of the account. */
async function readAccount(
  { fleet }: Pick<MutationDeps, 'fleet'>,
  accountId: string,
  handed: FleetReader | undefined,
  lastCommit: number,
): Promise<AccountRead> {
  // Memory may have been dropped since the reader was handed over.
  if (handed && (!handed.atOnce || fleet.memory.whole)) {
    const reader = new PlanReader(handed);
    const counters = await (await reader.account(accountId))?.counters();
    if (counters && counters.revision >= lastCommit) return { reader, isCurrent: !handed.atOnce, counters };
  }
  const reader = new PlanReader(await fleet.current());
  return { reader, isCurrent: true, counters: await (await reader.account(accountId))?.counters() };
}

interface Together {
  readonly planned: readonly Planned[];
  readonly deferred: readonly Member[];
}

/** Plans each member upon the counters that the one before leaves. Refused and unchanged ones are settled here. */
async function planMembers(
  deps: Pick<MutationDeps, 'clock' | 'store' | 'quotas'>,
  { reader, isCurrent, counters }: AccountRead,
  members: readonly Member[],
): Promise<Together> {
  const planned: Planned[] = [];
  const deferred: Member[] = [];
  const room = new CommitRoom();
  for (const member of members) {
    try {
      if (!counters) throw new Refusal('invalid_key');
      refuseLate(deps, member.origin);
      const step = await guarded(member, reader, planned.at(-1)?.step.counters ?? counters.record);
      // A create that a nearly full store or a quota refuses must not take a delete beside it along.
      if (!isUnchanged(step)) {
        for (const one of stepsOf(step)) {
          const writeClass = writeClassOf(one);
          refuseWithoutRoom(deps.store, writeClass);
          deps.quotas.refuseAtQuota(member.origin, { accountId: one.accountId, action: one.action, writeClass });
        }
      }
      if (isUnchanged(step)) {
        if (isCurrent) member.resolve(step.unchanged);
        else deferred.push({ ...member, reader: undefined });
      } else if (room.take(stepsOf(step))) planned.push({ member, step });
      else deferred.push(member);
    } catch (error) {
      if (!(error instanceof Refusal)) member.reject(error);
      else if (!isCurrent) deferred.push({ ...member, reader: undefined });
      // The steps before it are not committed yet: their commit may fail, or they may be planned again.
      else if (planned.length > 0) deferred.push(member);
      else member.reject(error);
    }
  }
  return { planned, deferred };
}

/** The member's step with the expectations of its guard. */
async function guarded(
  { origin, plan }: Member,
  reader: FleetReader,
  counters: CountersRecord,
): Promise<CountersStep<unknown> | Unchanged<unknown>> {
  const relied = await origin.guard?.(reader);
  const step = await plan(reader, counters);
  return relied === undefined || isUnchanged(step) ? step : withParts(step, { expect: relied });
}
