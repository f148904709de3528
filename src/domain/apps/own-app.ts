import { expectUnchanged, type Store } from '../../store/port.ts';
import type { AppEntry, FleetReader } from '../fleet/reader.ts';
import type { AccountQueues } from '../mutation/account-queue.ts';
import { authorisedBy, type Authorised, type Authority } from '../mutation/authority.ts';
import type { IdempotencyRecords } from '../mutation/idempotency.ts';
import type { MutationDeps, Origin } from '../mutation/step.ts';
import { Refusal } from '../refusal.ts';
import type { BatchAnswers } from './batch-answers.ts';
import type { TransitionDeps } from '../status-history/status-change.ts';

/** The caller of an operation on an account's own records: on `/v1` an API key, authenticated with this reader. */
export interface Caller {
  readonly accountId: string;
  readonly authority: Authority;
  readonly reader: FleetReader;
  readonly origin: Origin;
}

/** The services that the operations on apps use. */
export interface AppsDeps extends MutationDeps, TransitionDeps {
  readonly store: Store;
  readonly queues: AccountQueues;
  readonly idempotency: IdempotencyRecords;
  /** Those of restricted API keys (H23). */
  readonly keyAnswers: IdempotencyRecords;
  readonly batchAnswers: BatchAnswers;
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
  authorised.mayChange?.(app.record);
  const expectApp = expectUnchanged(app);
  return { ...authorised, app, expect: [...authorised.expect, expectApp] };
}
