import type { AuditedExport, Export, ExportedPage } from '../../domain/access-audit/audited-exports.ts';
import type { Accounts } from '../../domain/accounts/accounts.ts';
import type { ApiKeys } from '../../domain/accounts/api-keys.ts';
import type { AuditEntries } from '../../domain/audit/reading/list.ts';
import type { AuditVerifier } from '../../domain/audit/verify.ts';
import type { Backups } from '../../domain/backup/backup.ts';
import type { Fleet } from '../../domain/fleet/fleet.ts';
import type { KeyRotation } from '../../domain/key-rotation/key-rotation.ts';
import type { LimitedAccounts } from '../../domain/limited-accounts/service.ts';
import type { InTime, Usages } from '../../domain/metering/usage.ts';
import type { Origin } from '../../domain/mutation/step.ts';
import type { AccountRollouts } from '../../domain/rollouts/account-rollouts.ts';
import type { Rollouts } from '../../domain/rollouts/rollouts.ts';
import type { AppConsents } from '../../domain/resource-bindings/app-consents.ts';
import type { Recoveries } from '../../domain/resource-bindings/recoveries.ts';
import type { ReviewQueue } from '../../domain/review-queue/review-queue.ts';
import type { ListCredentials } from '../../domain/users/credential-list.ts';
import type { ListMadeKeys } from '../../domain/users/made-keys.ts';
import type { Links } from '../../domain/users/links.ts';
import type { UserDeletion } from '../../domain/users/user-deletion.ts';
import type { Users } from '../../domain/users/users.ts';
import { handlerOf } from '../serve/route.ts';

/** The services that the operator API uses. */
export interface OperatorServices {
  readonly fleet: Pick<Fleet, 'current'>;
  readonly accounts: Accounts;
  readonly apiKeys: ApiKeys;
  readonly appConsents: AppConsents;
  readonly auditEntries: AuditEntries;
  readonly auditVerifier: AuditVerifier;
  readonly recoveries: Pick<Recoveries, 'list' | 'holding' | 'allow'>;
  readonly reviewQueue: ReviewQueue;
  readonly rollouts: Rollouts;
  readonly accountRollouts: Pick<AccountRollouts, 'current'>;
  readonly usages: Usages;
  readonly keyRotation: KeyRotation;
  readonly backups: Backups;
  /** To be awaited before anything of an export leaves the service. */
  readonly auditExport: AuditedExport;
  readonly limitedAccounts: Pick<LimitedAccounts, 'current'>;
  readonly users: Users;
  readonly userDeletion: UserDeletion;
  readonly links: Links;
  readonly madeKeys: ListMadeKeys;
  readonly credentials: ListCredentials;
  /** The public origin of the panel; undefined where it is off. */
  readonly panelUrl: () => string | undefined;
}

/** The part of a call that the operations of the operator API have alone. Every wrong field is `invalid_request`. */
export interface OperatorCall {
  readonly origin: Origin;
  /**
   * The media type among these that the client prefers (RFC 9110, 12.5.1); the first one where it has no preference.
   */
  readonly accepts: (types: readonly string[]) => string | undefined;
  /**
   * Tells that data leaves the service (`AuditedExport`); to be awaited before the reply is given. A request for the
   * headers alone exports nothing.
   * @throws Busy; StoreUnavailable, but not where the store is full
   */
  readonly exporting: (what: Export, detail: Parameters<AuditedExport>[2], page: ExportedPage) => Promise<void>;
  /** Bounds one step of many by the time of a whole request, in a route with a deadline of its own. */
  readonly inTime: InTime;
}

/** Gives an operation of the operator API its handler. */
export const handle = handlerOf<OperatorCall, OperatorServices>();
