import type { Clock } from '../../time/clock.ts';
import type { Log } from '../../log.ts';
import type { Metrics, MutationAction } from '../../metrics/service-metrics.ts';
import { ABSENT, StoreUnavailable, type Change, type Expectation, type Store, type Write } from '../../store/port.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { AccountReader, FleetReader, MaybePromise } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { KEYS, put, type AuditRecord } from '../records/records.ts';
import { Refusal } from '../refusal.ts';
import { generateMarker, type RandomSource } from '../credentials/random-ids.ts';

/*
 * A mutation is one commit. It expects what it relied on (the records of who asks and of what is changed), so that a
 * revoked key cannot write even through a race. It writes the records and the audit entry, whose key holds 128 random
 * bits of this attempt: after a lost answer that entry tells whether the commit happened. What a request draws (ids,
 * secrets, its instant) is drawn once, before the first attempt.
 */

export interface MutationDeps {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly draw: RandomSource;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'mutationCommitted' | 'commitRepeated'>;
}

/** Who asks, and when. */
export interface Origin {
  readonly actor: string;
  readonly requestId: string;
  /** The instant of the request, on the wall clock. */
  readonly at: number;
  /** When there is no point in another attempt, on the monotonic clock: the request has been answered by then. */
  readonly deadline: number;
}

/** What to commit, decided from what was read. */
export interface Step<T> {
  readonly accountId: string;
  readonly action: MutationAction;
  readonly appId?: string;
  readonly detail?: AuditRecord['detail'];
  /** The instant that counts for the nights (M1); the audit tells it where it is not that of the request. */
  readonly countsAt?: number;
  readonly expect: readonly Expectation[];
  readonly write: readonly Write[];
  /** Adds to the store for good: refused when the store is nearly full, so that what frees and revokes still works. */
  readonly grows?: boolean;
  readonly result: T;
}

/** Nothing to commit: all is as it was asked to be. */
export interface Unchanged<T> {
  readonly unchanged: T;
}

/**
 * Decides a change from the fleet as it is, or throws a Refusal. It may be asked again, with a newer fleet, when the
 * commit met another one: it must draw nothing and keep nothing.
 */
export type Plan<T> = (reader: FleetReader) => MaybePromise<Step<T> | Unchanged<T>>;

export const isUnchanged = <T>(step: Step<T> | Unchanged<T>): step is Unchanged<T> => 'unchanged' in step;

/**
 * Plans and commits until it is done, refused, or out of time. A store that is slow within an attempt is the caller's to
 * give up on (`Exchange.inTime`).
 * @param first the reader that authenticated the request, for the first attempt
 * @throws Refusal from the plan; StoreUnavailable when the store is down or the deadline has passed
 */
export async function mutate<T>(deps: MutationDeps, origin: Origin, plan: Plan<T>, first?: FleetReader): Promise<T> {
  let reader = first ?? (await deps.fleet.current());
  for (let attempt = 1; ; attempt += 1) {
    const step = await plan(reader);
    if (isUnchanged(step)) return step.unchanged;
    refuseLate(deps, origin);
    const outcome = await commitSteps(deps, [{ origin, step }]);
    if (outcome !== 'conflict') {
      committed(deps, origin, step);
      return step.result;
    }
    await beforeAnotherAttempt(deps, attempt, origin.deadline);
    reader = await deps.fleet.current();
  }
}

export interface PlannedStep {
  readonly origin: Origin;
  readonly step: Step<unknown>;
}

/**
 * Commits one or more steps together, with the audit entry of each.
 * @returns the revision, or `conflict`: then nothing was written
 */
export async function commitSteps(
  deps: MutationDeps,
  steps: readonly PlannedStep[],
  extra: { expect: readonly Expectation[]; write: readonly Write[] } = { expect: [], write: [] },
): Promise<number | 'conflict'> {
  if (steps.some(({ step }) => step.grows === true)) refuseGrowthWhenFull(deps.store);
  const expect = new Map<string, Expectation>();
  const write: Write[] = [...extra.write];
  let marker = '';
  for (const expectation of extra.expect) expect.set(expectation.key, expectation);
  for (const { origin, step } of steps) {
    const entry = auditEntry(deps.draw, origin, step);
    marker = entry.put;
    write.push(...step.write, entry);
    for (const expectation of step.expect) {
      // Planned one after the other, two steps may have seen a record at two revisions: one of them is out of date.
      if ((expect.get(expectation.key)?.revision ?? expectation.revision) !== expectation.revision) return 'conflict';
      expect.set(expectation.key, expectation);
    }
    expect.set(entry.put, { key: entry.put, revision: ABSENT });
  }
  const [one, ...others] = expect.values();
  if (!one) throw new Error('a commit without steps');
  const deadline = Math.min(...steps.map(({ origin }) => origin.deadline));
  return await commitMarked(deps, { expect: [one, ...others], write }, marker, deadline);
}

function auditEntry(draw: RandomSource, origin: Origin, step: Step<unknown>): { put: string; value: string } {
  const { countsAt = origin.at } = step;
  const entry: AuditRecord = {
    at: origin.at,
    actor: origin.actor,
    action: step.action,
    ...(step.appId !== undefined && { appId: step.appId }),
    requestId: origin.requestId,
    detail: { ...step.detail, ...(countsAt !== origin.at && { countsAt: new Date(countsAt).toISOString() }) },
  };
  return put(KEYS.audit(step.accountId, origin.at, generateMarker(draw)), entry);
}

/**
 * After a lost answer the marker tells. Where it is not there, the same change is sent once more, if there is still time:
 * it expects the marker's absence, so that it cannot happen twice even if the first one is still on its way.
 */
async function commitMarked(
  deps: MutationDeps,
  change: Change,
  marker: string,
  deadline: number,
): Promise<number | 'conflict'> {
  let lost = false;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const result = await deps.store.commit(change);
      if (result.outcome === 'committed') return result.revision;
      return lost ? await revisionOf(deps.store, marker) : 'conflict';
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || error.reason === 'full' || attempt === 2) throw error;
      deps.metrics.commitRepeated('unknown');
      lost = true;
      const landed = await revisionOf(deps.store, marker);
      if (landed !== 'conflict') return landed;
      if (deps.clock.monotonic() >= deadline) throw error;
    }
  }
}

async function revisionOf(store: Store, marker: string): Promise<number | 'conflict'> {
  return (await store.get(marker))?.revision ?? 'conflict';
}

export function refuseGrowthWhenFull(store: Store): void {
  if (store.fullness() >= LIMITS.storeFullnessMax) {
    throw new StoreUnavailable('full', 'The store is nearly full: only what frees or revokes is taken.');
  }
}

/** Who has been answered 502 while the request waited for its turn is not to find it carried out afterwards. */
export function refuseLate(deps: Pick<MutationDeps, 'clock'>, origin: Origin): void {
  if (deps.clock.monotonic() >= origin.deadline) {
    throw new StoreUnavailable('timeout', 'The deadline passed before the commit was sent.');
  }
}

/** Others were faster: pause for a moment, longer each time, and by chance, so that they do not meet again. */
export async function beforeAnotherAttempt(
  deps: Pick<MutationDeps, 'clock' | 'draw' | 'metrics'>,
  attempt: number,
  deadline: number,
): Promise<void> {
  deps.metrics.commitRepeated('conflict');
  if (attempt >= LIMITS.conflictAttemptsMax || deps.clock.monotonic() >= deadline) {
    throw new StoreUnavailable('timeout', 'The record changed under every attempt.');
  }
  if (attempt === 1) return;
  const chance = deps.draw.bytes(1).readUInt8() / 256;
  await deps.clock.sleep(Math.min(2 ** attempt, 100) * chance);
}

export function committed(deps: Pick<MutationDeps, 'log' | 'metrics'>, origin: Origin, step: Step<unknown>): void {
  deps.metrics.mutationCommitted(step.action);
  const { accountId, action, appId } = step;
  deps.log.info({ actor: origin.actor, requestId: origin.requestId, accountId, appId, action }, 'changed');
}

/** On whose word an account's own things are changed: an API key's, or that of the leader for a custom resource. */
export type Authority = { readonly keyId: string } | { readonly precondition: Precondition };

/**
 * What else a commit for a custom resource relies on (the leader's fence, the resource's binding as it was read) and
 * leaves (the binding as it then is), so that what was done and the memory of it cannot part.
 */
export interface Precondition {
  readonly expect: readonly Expectation[];
  readonly write: readonly Write[];
  /**
   * For the plan to call first: a commit that conflicts is planned again, and where it was the precondition that did not hold, it
   * never will. It looks from the second attempt on.
   * @throws StaleRead, StoreUnavailable
   */
  recheck(): Promise<void>;
}
export const NO_PRECONDITION: Precondition = { expect: [], write: [], recheck: async () => undefined };

export interface Authorised {
  readonly account: AccountReader;
  readonly expect: readonly Expectation[];
  readonly write: readonly Write[];
}

/** What a mutation relies on: who asks, and the account, as they are now. Throws a Refusal otherwise. */
export async function authorisedBy(reader: FleetReader, accountId: string, authority: Authority): Promise<Authorised> {
  return 'keyId' in authority
    ? await authorisedByKey(reader, accountId, authority.keyId)
    : await authorisedByPrecondition(reader, accountId, authority.precondition);
}

/** A disabled account does not keep its custom resources from being carried out: they may take access away, too. */
async function authorisedByPrecondition(
  reader: FleetReader,
  accountId: string,
  precondition: Precondition,
): Promise<Authorised> {
  await precondition.recheck();
  const account = await reader.account(accountId);
  if (!account) throw new Refusal('not_found');
  const expectAccount = { key: KEYS.account(accountId), revision: account.revision };
  return { account, expect: [expectAccount, ...precondition.expect], write: precondition.write };
}

async function authorisedByKey(reader: FleetReader, accountId: string, keyId: string): Promise<Authorised> {
  const found = await reader.accountOfKey(keyId);
  if (!found || found.account.id !== accountId) throw new Refusal('invalid_key');
  if (found.account.record.disabled) throw new Refusal('account_disabled');
  return {
    account: found.account,
    expect: [
      { key: KEYS.apiKey(accountId, keyId), revision: found.key.revision },
      { key: KEYS.account(accountId), revision: found.account.revision },
    ],
    write: [],
  };
}
