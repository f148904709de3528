import * as z from 'zod';
import { expectAbsent, expectUnchanged, type Store, type Write } from '../../store/port.ts';
import { generateAppId } from '../credentials/random-ids.ts';
import { Secret } from '../credentials/secret.ts';
import { generateEnrollCode, tokenHash } from '../credentials/tokens.ts';
import type { AppEntry, FleetReader } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import type { AccountQueues, CountersPlan, CountersStep } from '../mutation/account-queue.ts';
import { authorisedBy, type Authorised, type Authority } from '../mutation/authority.ts';
import type { IdempotencyKey, IdempotencyRecords, RecordAnswer } from '../mutation/idempotency.ts';
import { mutate } from '../mutation/mutation.ts';
import type { MutationDeps, Origin, Step } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { appRemoval, KEYS } from '../records/keys.ts';
import type { CountersRecord } from '../records/account-records.ts';
import { Refusal } from '../refusal.ts';
import { appCreation, appTransition, type TransitionDeps } from '../status-history/status-change.ts';
import { codeExpiry, isFullyRevoked, newApp, revoked, withCode, type NewCode } from './app-state.ts';
import { removePastCredentials } from './past-credentials.ts';

/** The caller of an operation on an account's own records: on `/v1` an API key, authenticated with this reader. */
export interface Caller {
  readonly accountId: string;
  readonly authority: Authority;
  readonly reader: FleetReader;
  readonly origin: Origin;
}

/** An enrollment code that was issued. Its text is in this result alone. */
interface IssuedCode {
  readonly enrollCode: Secret;
  readonly expiresAt: number;
  /** The code was given before, for the same Idempotency-Key. */
  readonly replayed: boolean;
}

/** An app that was created, with its first enrollment code. */
interface CreatedApp extends IssuedCode {
  readonly appId: string;
  readonly name: string;
}

/** The owner's operations on apps. */
export interface Apps {
  /**
   * Section 4.1: creates an app with an enrollment code. The text of the code is in this result alone.
   * @throws Refusal `limit_reached` (A10), `invalid_name` where the Idempotency-Key was used with another name (H19),
   * `invalid_key`, `account_disabled`; StoreUnavailable, Busy
   */
  create(caller: Caller, name: string, idempotency?: IdempotencyKey): Promise<CreatedApp>;
  /**
   * Section 4.4: issues a further enrollment code; beyond the bound the oldest is voided (A5).
   * @throws Refusal `not_found`, `invalid_key`, `account_disabled`; StoreUnavailable, Busy
   */
  issueCode(caller: Caller, appId: string, idempotency?: IdempotencyKey): Promise<IssuedCode>;
  /**
   * Section 4.5: revokes an app; its credential and codes end with the commit (A6, A12).
   * @throws Refusal `not_found`, `invalid_key`, `account_disabled`; StoreUnavailable, Busy
   */
  revoke(caller: Caller, appId: string): Promise<void>;
  /**
   * Section 4.6: deletes an app with all that belongs to it (A9); the account may then have another app (A10).
   * @throws Refusal `not_found`, `invalid_key`, `account_disabled`; StoreUnavailable, Busy
   */
  remove(caller: Caller, appId: string): Promise<void>;
}

interface AppsDeps extends MutationDeps, TransitionDeps {
  readonly store: Store;
  readonly queues: AccountQueues;
  readonly idempotency: IdempotencyRecords;
}

/** Creates the operations on apps; see `Apps`. */
export function createApps(deps: AppsDeps): Apps {
  return {
    create: (caller, name, idempotency) => create(deps, caller, name, idempotency),
    issueCode: (caller, appId, idempotency) =>
      idempotency ? issueCodeOnce(deps, caller, appId, idempotency) : issueCode(deps, caller, appId),
    revoke: (caller, appId) => revoke(deps, caller, appId),
    remove: (caller, appId) => remove(deps, caller, appId),
  };
}

/**
 * Reads an app of the caller's account. Unknown and foreign apps are refused alike (section 5.5), since an account's
 * reader has its own apps alone.
 * @throws Refusal `not_found`, `invalid_key`, `account_disabled`; StaleRead; StoreUnavailable
 */
export async function ownApp(
  caller: Caller,
  reader: FleetReader,
  appId: string,
): Promise<Authorised & { app: AppEntry }> {
  const authorised = await authorisedBy(reader, caller.accountId, caller.authority);
  const app = await authorised.account.app(appId);
  if (!app) throw new Refusal('not_found');
  if ('precondition' in caller.authority) caller.authority.mayChange?.(app.record);
  const expectApp = expectUnchanged(app);
  return { ...authorised, app, expect: [...authorised.expect, expectApp] };
}

async function create(deps: AppsDeps, caller: Caller, name: string, asked?: IdempotencyKey): Promise<CreatedApp> {
  const { accountId, origin } = caller;
  const appId = generateAppId(deps.random);
  const enrollCode = generateEnrollCode(deps.random);
  const code = { hash: tokenHash(enrollCode.reveal()), issuedAt: origin.at };
  const created: CreatedApp = { appId, name, enrollCode, expiresAt: codeExpiry(origin.at), replayed: false };

  const plan: CountersPlan<CreatedApp> = async (reader, counters) => {
    const authorised = await authorisedBy(reader, accountId, caller.authority);
    const found = asked && (await deps.idempotency.find(accountId, asked, origin.at, reader));
    if (found && 'answer' in found) return { unchanged: readApp(found.answer) };
    const creation = await creationStep(deps, caller, { reader, counters, authorised }, { appId, name, code });
    const step = { ...creation, result: created };
    return found ? await recording(step, found.record) : step;
  };
  return await deps.queues(accountId, origin, plan, caller.reader);
}

/** The records that the plan of a creation has read. */
interface CreationRead {
  readonly reader: FleetReader;
  readonly counters: CountersRecord;
  readonly authorised: Authorised;
}

/**
 * The step that creates a pending app (A10).
 * @param app the code is undefined where none is issued yet
 * @throws Refusal `limit_reached`; StoreUnavailable
 */
export async function creationStep(
  deps: TransitionDeps,
  { accountId, origin }: Caller,
  { reader, counters, authorised }: CreationRead,
  { appId, name, code }: { appId: string; name: string; code?: NewCode },
): Promise<CountersStep<void>> {
  if (counters.apps >= LIMITS.appsPerAccountMax) throw new Refusal('limit_reached');
  const key = KEYS.app(accountId, appId);
  const creation = await appCreation(deps, reader, origin.at);
  const record = { ...newApp(name, counters.nextSlot, origin.at, code), statusAt: creation.at };
  return {
    accountId,
    action: 'app.created',
    appId,
    countsAt: creation.at,
    expect: [...authorised.expect, expectAbsent(key), ...creation.expect],
    write: [put(key, record), ...authorised.write, ...creation.write],
    counters: { ...counters, apps: counters.apps + 1, nextSlot: counters.nextSlot + 1 },
    result: undefined,
  };
}

/** The step with the idempotency record of its answer. */
async function recording<T extends IssuedCode>(step: CountersStep<T>, record: RecordAnswer): Promise<CountersStep<T>> {
  const answer = new Secret(JSON.stringify({ ...step.result, enrollCode: step.result.enrollCode.reveal() }));
  const { expect, write } = await record(step.counters.idempotencyNext, answer);
  const counters = { ...step.counters, idempotencyNext: step.counters.idempotencyNext + 1 };
  return { ...step, expect: [...step.expect, ...expect], write: [...step.write, ...write], counters };
}

const recordedCode = z.object({ enrollCode: z.string(), expiresAt: z.number() });
const recordedApp = recordedCode.extend({ appId: z.string(), name: z.string() });

/** Reads what `recording` wrote. */
function readCode(answer: string): IssuedCode {
  const { enrollCode, expiresAt } = recordedCode.parse(JSON.parse(answer));
  return { enrollCode: new Secret(enrollCode), expiresAt, replayed: true };
}

function readApp(answer: string): CreatedApp {
  const { appId, name } = recordedApp.parse(JSON.parse(answer));
  return { ...readCode(answer), appId, name };
}

async function issueCode(deps: AppsDeps, caller: Caller, appId: string): Promise<IssuedCode> {
  const step = issuing(deps, caller, appId);
  return await mutate(deps, caller.origin, step, caller.reader);
}

async function issueCodeOnce(
  deps: AppsDeps,
  caller: Caller,
  appId: string,
  asked: IdempotencyKey,
): Promise<IssuedCode> {
  const { accountId, origin } = caller;
  const issue = issuing(deps, caller, appId);
  const plan: CountersPlan<IssuedCode> = async (reader, counters) => {
    await authorisedBy(reader, accountId, caller.authority);
    const found = await deps.idempotency.find(accountId, asked, origin.at, reader);
    if ('answer' in found) return { unchanged: readCode(found.answer) };
    return await recording({ ...(await issue(reader)), counters }, found.record);
  };
  return await deps.queues(accountId, origin, plan, caller.reader);
}

/** Generates the code once, for every attempt of the request. */
function issuing(deps: AppsDeps, caller: Caller, appId: string): (reader: FleetReader) => Promise<Step<IssuedCode>> {
  const { accountId, origin } = caller;
  const enrollCode = generateEnrollCode(deps.random);
  const code = { hash: tokenHash(enrollCode.reveal()), issuedAt: origin.at };
  return async (reader) => {
    const { app, expect, write } = await ownApp(caller, reader, appId);
    return {
      accountId,
      action: 'code.issued',
      appId,
      expect,
      write: [put(KEYS.app(accountId, appId), withCode(app.record, code)), ...write],
      result: { enrollCode, expiresAt: codeExpiry(origin.at), replayed: false },
    };
  };
}

async function revoke(deps: AppsDeps, caller: Caller, appId: string): Promise<void> {
  const { accountId, origin } = caller;
  const plan = async (reader: FleetReader): Promise<Step<void> | { unchanged: undefined }> => {
    const { app, expect, write: preconditionWrites } = await ownApp(caller, reader, appId);
    if (isFullyRevoked(app.record)) return { unchanged: undefined };
    const { status, credential, codes } = app.record;
    const changes = status === 'revoked' ? undefined : await appTransition(deps, reader, app, 'revoked', origin.at);
    const write: Write[] = [
      put(KEYS.app(accountId, appId), revoked(app.record, changes?.at ?? app.record.statusAt)),
      ...(changes?.write ?? []),
      ...preconditionWrites,
    ];
    if (credential !== undefined) write.push(put(KEYS.pastCredential(appId, credential), {}));
    return {
      accountId,
      action: 'app.revoked',
      appId,
      detail: { from: status, codesVoided: codes.length },
      ...(changes && { countsAt: changes.at }),
      expect: [...expect, ...(changes?.expect ?? [])],
      write,
      result: undefined,
    };
  };
  await mutate(deps, origin, plan, caller.reader);
}

/** A9: one commit removes all of the app; the audit stays, and the status change that metering needs. */
async function remove(deps: AppsDeps, caller: Caller, appId: string): Promise<void> {
  const { accountId, origin } = caller;
  const plan: CountersPlan<boolean> = async (reader, counters) => {
    const { app, expect, write: preconditionWrites } = await ownApp(caller, reader, appId);
    const past = await pastCredentials(deps.store, appId);
    const gone = await appTransition(deps, reader, app, 'none', origin.at);
    const write: Write[] = [...preconditionWrites, ...gone.write, ...appRemoval(accountId, appId)];
    // An enrollment between the two reads has put the credential among the past ones: then the commit conflicts.
    const hashes = new Set(app.record.credential === undefined ? [] : [app.record.credential]);
    if (past.complete) {
      write.push({ removeAll: KEYS.pastCredential.under(appId) });
      for (const hash of past.hashes) hashes.add(hash);
    }
    for (const hash of hashes) write.push({ remove: KEYS.credential(hash) });
    return {
      accountId,
      action: 'app.deleted',
      appId,
      detail: { from: app.record.status },
      countsAt: gone.at,
      expect: [...expect, ...gone.expect],
      write,
      counters: { ...counters, apps: Math.max(0, counters.apps - 1) },
      result: !past.complete,
    };
  };
  const leftovers = await deps.queues(accountId, origin, plan, caller.reader);
  if (!leftovers) return;
  // The app is deleted, and the answer does not wait: a hash that is left binds no credential
  // (domain/devices/enrollment.ts).
  removePastCredentials(deps.store, appId).catch((error: unknown) => {
    deps.log.warn({ err: error, accountId, appId }, 'past credentials of a deleted app are left over');
  });
}

async function pastCredentials(store: Store, appId: string): Promise<{ hashes: string[]; complete: boolean }> {
  const prefix = KEYS.pastCredential.under(appId);
  const page = await store.list({ prefix, limit: LIMITS.pastCredentialsPerCommitMax, keysOnly: true });
  return { hashes: page.entries.map((entry) => entry.key.slice(prefix.length)), complete: page.next === undefined };
}
