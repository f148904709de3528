import {
  expectAbsent,
  isFull,
  StoreUnavailable,
  type Change,
  type ChangeParts,
  type Expectation,
  type Put,
  type Store,
  type Write,
} from '../../store/port.ts';
import { namesOf, putBy, type EntryNames, type ReadName } from '../audit/names.ts';
import { generateMarker, type RandomSource } from '../credentials/random-ids.ts';
import { strictestOf } from '../fullness/write-class.ts';
import { LIMITS } from '../limits.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { AuditRecord } from '../records/audit-records.ts';
import { Busy } from '../refusal.ts';
import { writeClassOf } from './actions.ts';
import { commitInstants, type InstantDeps } from './commit-instant.ts';
import { requestFields, type MutationDeps, type Origin, type Step } from './step.ts';

interface CommitExtra extends Partial<ChangeParts> {
  /** No consistent read depends on what the steps write. */
  readonly quiet?: true;
}

export interface PlannedStep {
  readonly origin: Origin;
  readonly step: Step<unknown>;
}

/**
 * Commits one or more steps together, with the audit entry of each.
 * @param readName tells the names that the audit keeps, of what the steps do not write
 * @returns the revision, or `conflict`: then nothing was written
 * @throws StoreUnavailable; `full` where the store is too full for the class of a step
 */
export async function commitSteps(
  deps: Pick<MutationDeps, 'store' | 'random' | 'metrics'> & InstantDeps,
  steps: readonly PlannedStep[],
  readName: ReadName,
  extra: CommitExtra = {},
): Promise<number | 'conflict'> {
  const written = putBy(steps.flatMap(({ step }) => step.write));
  const names = await Promise.all(
    steps.map(({ origin, step }) => namesOf({ actor: origin.actor, ...step }, written, readName)),
  );
  const instants = commitInstants(deps);
  const expect = new Map<string, Expectation>();
  const write: Write[] = [...(extra.write ?? [])];
  let marker = '';
  for (const expectation of extra.expect ?? []) expect.set(expectation.key, expectation);
  for (const [index, { origin, step }] of steps.entries()) {
    const entry = entryOf(deps.random, origin, { ...step, ...names[index] }, instants.of(step.countsAt));
    marker = entry.put;
    write.push(...step.write, entry);
    for (const expectation of step.expect) {
      // Two steps that were planned one after the other may have read a record from the store itself, at two revisions:
      // one of them is too old.
      if ((expect.get(expectation.key)?.revision ?? expectation.revision) !== expectation.revision) return 'conflict';
      expect.set(expectation.key, expectation);
    }
    expect.set(entry.put, expectAbsent(entry.put));
  }
  const [one, ...others] = expect.values();
  if (!one) throw new Error('a commit without steps');
  const deadline = Math.min(...steps.map(({ origin }) => origin.deadline));
  const writeClass = strictestOf(steps.map(({ step }) => writeClassOf(step)));
  const change: Change = {
    expect: [one, ...others],
    write,
    at: instants.newest,
    writeClass,
    ...(extra.quiet && { quiet: true }),
  };
  return await commitMarked(deps, change, marker, deadline);
}

/** What an entry tells of its origin and of its step. */
type Told = Pick<Origin, 'actor' | 'asOperator' | 'requestId'>;
type Done = Pick<Step<unknown>, 'accountId' | 'action' | 'appId' | 'detail' | 'countsAt'>;

/**
 * The audit entry of something that is committed apart from `commitSteps`, under a key that nobody can foresee.
 * @param at the instant of its commit
 * @param readName tells the names that the entry keeps
 */
export async function auditEntry(
  random: RandomSource,
  origin: Told,
  step: Done,
  at: number,
  readName: ReadName,
): Promise<Put> {
  return entryOf(random, origin, { ...step, ...(await namesOf({ ...step, ...origin }, new Map(), readName)) }, at);
}

function entryOf(random: RandomSource, origin: Told, step: Done & EntryNames, at: number): Put {
  const { countsAt = at } = step;
  const entry: AuditRecord = {
    at,
    actor: origin.actor,
    ...(step.actorName !== undefined && { actorName: step.actorName }),
    ...(origin.asOperator === true && { asOperator: true }),
    action: step.action,
    ...(step.appId !== undefined && { appId: step.appId }),
    ...(step.targetName !== undefined && { targetName: step.targetName }),
    requestId: origin.requestId,
    detail: { ...step.detail, ...(countsAt !== at && { countsAt: new Date(countsAt).toISOString() }) },
  };
  return put(KEYS.audit(step.accountId, at, generateMarker(random)), entry);
}

/**
 * Commits a change. After a lost answer the marker tells whether it was committed. Where the marker is absent, the same
 * change is sent once more if there is still time: it expects the marker's absence, so that it cannot happen twice even
 * if the first one is still on its way.
 */
async function commitMarked(
  deps: Pick<MutationDeps, 'store' | 'clock' | 'metrics'>,
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
      if (!(error instanceof StoreUnavailable) || isFull(error) || attempt === 2) throw error;
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

/** A request that was answered 502 while it waited is not carried out afterwards. @throws Busy `late` */
export function refuseLate(deps: Pick<MutationDeps, 'clock'>, origin: Origin): void {
  if (deps.clock.monotonic() >= origin.deadline) {
    throw new Busy('late', 'The deadline passed before the commit was sent.');
  }
}

/**
 * Pauses after a conflict: not after the first, then longer each time and by chance, so that those who conflicted do
 * not meet again.
 * @throws Busy where the deadline has passed, or after `LIMITS.conflictAttemptsMax` attempts
 */
export async function beforeAnotherAttempt(
  deps: Pick<MutationDeps, 'clock' | 'random' | 'metrics'>,
  attempt: number,
  deadline: number,
): Promise<void> {
  deps.metrics.commitRepeated('conflict');
  if (deps.clock.monotonic() >= deadline) throw new Busy('late', 'The deadline passed between two attempts.');
  if (attempt >= LIMITS.conflictAttemptsMax) throw new Busy('conflicts', 'The record changed under every attempt.');
  if (attempt === 1) return;
  const chance = deps.random.bytes(1).readUInt8() / 256;
  await deps.clock.sleep(Math.min(2 ** attempt, 100) * chance);
}

/** Counts and logs a step that was committed. */
export function committed(deps: Pick<MutationDeps, 'log' | 'metrics'>, origin: Origin, step: Step<unknown>): void {
  deps.metrics.mutationCommitted(step.action);
  const { accountId, action, appId } = step;
  deps.log.info({ actor: origin.actor, ...requestFields(origin), accountId, appId, action }, 'changed');
}
