import type { IdempotencyKey } from '../mutation/idempotency.ts';
import { changeMany } from './batch.ts';
import type { AppBatch, AppOutcome } from './batch-items.ts';
import { createApp, type CreatedApp } from './create-app.ts';
import { deleteApp } from './delete-app.ts';
import { issueCode, type IssuedCode } from './issue-code.ts';
import type { AppsDeps, Caller } from './own-app.ts';
import { revokeApp } from './revoke-app.ts';

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
  /**
   * P15: changes many apps, each as by the operation on one, in few commits.
   * @returns the outcome of each app, in the order in which they were named
   * @throws Refusal `invalid_request` where the Idempotency-Key was used with another batch, or of the caller as above;
   * StoreUnavailable, Busy: those that were changed by then stay changed, and a repetition goes on with the others
   */
  changeMany(caller: Caller, batch: AppBatch, idempotency?: IdempotencyKey): Promise<readonly AppOutcome[]>;
}

/** Creates the operations on apps; see `Apps`. */
export function createApps(deps: AppsDeps): Apps {
  return {
    create: (caller, name, idempotency) => createApp(deps, caller, name, idempotency),
    issueCode: (caller, appId, idempotency) => issueCode(deps, caller, appId, idempotency),
    revoke: (caller, appId) => revokeApp(deps, caller, appId),
    remove: (caller, appId) => deleteApp(deps, caller, appId),
    changeMany: (caller, batch, idempotency) => changeMany(deps, caller, batch, idempotency),
  };
}
