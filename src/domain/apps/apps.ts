import type { Store, Write } from '../../store/port.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import type { CountersPlan } from '../mutation/account-queue.ts';
import type { IdempotencyKey } from '../mutation/idempotency.ts';
import { mutate } from '../mutation/mutation.ts';
import type { Step } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { appRemoval, KEYS } from '../records/keys.ts';
import { appTransition } from '../status-history/status-change.ts';
import { isFullyRevoked, revoked } from './app-state.ts';
import { createApp, type CreatedApp } from './create-app.ts';
import { issueCode, type IssuedCode } from './issue-code.ts';
import { ownApp, type AppsDeps, type Caller } from './own-app.ts';
import { removePastCredentials } from './past-credentials.ts';

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

/** Creates the operations on apps; see `Apps`. */
export function createApps(deps: AppsDeps): Apps {
  return {
    create: (caller, name, idempotency) => createApp(deps, caller, name, idempotency),
    issueCode: (caller, appId, idempotency) => issueCode(deps, caller, appId, idempotency),
    revoke: (caller, appId) => revoke(deps, caller, appId),
    remove: (caller, appId) => remove(deps, caller, appId),
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
