import { COMMIT_OPERATIONS_MAX } from '../../store/port.ts';
import type { AccountReader, FleetReader, MaybePromise } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { type CountersRecord } from '../records/records.ts';
import { Refusal } from '../refusal.ts';
import {
  beforeAnotherAttempt,
  commitSteps,
  committed,
  refuseGrowthWhenFull,
  refuseLate,
  type PlannedStep,
} from './commit.ts';
import { isUnchanged, type MutationDeps, type Origin, type Step, type Unchanged } from './step.ts';

/*
 * Creates and deletes of one account meet in its counters, the record that makes the limit of 1000 apps exact. Left alone,
 * 64 creates at once would conflict 64 times; so each process lets those of one account queue up and commits all that
 * wait together, one commit at a time. Over processes they still conflict, and try again.
 */

export interface CountersStep<T> extends Step<T> {
  readonly counters: CountersRecord;
}

/** As `Plan`, with the counters as the steps before it leave it. */
export type CountersPlan<T> = (
  reader: FleetReader,
  account: AccountReader,
  counters: CountersRecord,
) => MaybePromise<CountersStep<T> | Unchanged<T>>;

interface Member {
  readonly origin: Origin;
  readonly plan: CountersPlan<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Planned extends PlannedStep {
  readonly member: Member;
  readonly step: CountersStep<unknown>;
}

export type AccountQueues = <T>(accountId: string, origin: Origin, plan: CountersPlan<T>) => Promise<T>;

/** One queue an account; it goes when it is empty. */
export function createAccountQueues(deps: MutationDeps): AccountQueues {
  const lanes = new Map<string, Member[]>();

  async function serve(accountId: string, waiting: Member[]): Promise<void> {
    // Members that arrive in the same turn of the event loop share the first commit.
    await Promise.resolve();
    let carried: Versioned<CountersRecord> | undefined;
    while (waiting.length > 0) {
      carried = await commitTogether(deps, accountId, waiting.splice(0, LIMITS.mergedMutationsMax), waiting, carried);
    }
    lanes.delete(accountId);
  }

  return <T>(accountId: string, origin: Origin, plan: CountersPlan<T>): Promise<T> => {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // What a member's plan decided is what its own promise resolves to; the lane never looks at it.
    const member: Member = { origin, plan, resolve: (result) => resolve(result as T), reject };
    const waiting = lanes.get(accountId);
    if (waiting) waiting.push(member);
    else {
      const own = [member];
      lanes.set(accountId, own);
      void serve(accountId, own);
    }
    return promise;
  };
}

/** Never throws: every member is settled, or put back to wait. Returns the counters as it then is, where that is known. */
async function commitTogether(
  deps: MutationDeps,
  accountId: string,
  members: readonly Member[],
  waiting: Member[],
  carried: Versioned<CountersRecord> | undefined,
): Promise<Versioned<CountersRecord> | undefined> {
  let left = members;
  let before = carried;
  try {
    for (let attempt = 1; ; attempt += 1) {
      const reader = await deps.fleet.current();
      const { planned, deferred, counters } = await planAll(deps, reader, accountId, left, before);
      waiting.unshift(...deferred);
      if (planned.length === 0 || !counters) return before;
      left = planned.map(({ member }) => member);
      const last = planned.at(-1)?.step.counters ?? counters.record;
      const revision = await commitSteps(deps, planned, {
        expect: [{ key: KEYS.counters(accountId), revision: counters.revision }],
        write: [put(KEYS.counters(accountId), last)],
      });
      if (revision !== 'conflict') {
        settle(deps, planned);
        return { record: last, revision };
      }
      before = undefined;
      await beforeAnotherAttempt(deps, attempt, Math.max(...left.map(({ origin }) => origin.deadline)));
    }
  } catch (error) {
    for (const member of left) member.reject(error);
    return undefined;
  }
}

function settle(deps: MutationDeps, planned: readonly Planned[]): void {
  for (const { member, step } of planned) {
    committed(deps, member.origin, step);
    member.resolve(step.result);
  }
}

interface Together {
  readonly planned: readonly Planned[];
  readonly deferred: readonly Member[];
  readonly counters: Versioned<CountersRecord> | undefined;
}

/** Plans each member upon the counters that the one before leaves. Refused and unchanged ones are answered here. */
async function planAll(
  deps: Pick<MutationDeps, 'clock' | 'store'>,
  reader: FleetReader,
  accountId: string,
  members: readonly Member[],
  carried: Versioned<CountersRecord> | undefined,
): Promise<Together> {
  const account = await reader.account(accountId);
  const read = await account?.counters();
  // What this lane committed last may be newer than memory.
  const counters = carried && read && carried.revision > read.revision ? carried : read;
  const planned: Planned[] = [];
  const deferred: Member[] = [];
  const touched = new Set<string>();
  let operations = 1;
  for (const member of members) {
    try {
      if (!account || !counters) throw new Refusal('invalid_key');
      refuseLate(deps, member.origin);
      const step = await member.plan(reader, account, planned.at(-1)?.step.counters ?? counters.record);
      // A create that a nearly full store refuses must not take a delete beside it along.
      if (!isUnchanged(step) && step.grows === true) refuseGrowthWhenFull(deps.store);
      if (isUnchanged(step)) member.resolve(step.unchanged);
      else if (operations + operationsOf(step) > COMMIT_OPERATIONS_MAX) deferred.push(member);
      else if (step.write.some((write) => touched.has(keyOf(write)))) deferred.push(member);
      else {
        operations += operationsOf(step);
        for (const write of step.write) touched.add(keyOf(write));
        planned.push({ member, origin: member.origin, step });
      }
    } catch (error) {
      // What the members before would make of the account is not yet so: their answer may be kept, or their commit fail.
      if (error instanceof Refusal && planned.length > 0) deferred.push(member);
      else member.reject(error);
    }
  }
  return { planned, deferred, counters };
}

/** Writes or expectations, whichever are more; each step brings an audit entry, which is one of both. */
const operationsOf = (step: Step<unknown>): number => Math.max(step.write.length, step.expect.length) + 1;

function keyOf(write: Step<unknown>['write'][number]): string {
  if ('put' in write) return write.put;
  return 'remove' in write ? write.remove : write.removeAll;
}
