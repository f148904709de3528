import type * as z from 'zod';
import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { AuditedExport, Export, ExportedPage } from '../../domain/access-audit/audited-exports.ts';
import type { Accounts } from '../../domain/accounts/accounts.ts';
import type { ApiKeys } from '../../domain/accounts/api-keys.ts';
import type { AuditEntries } from '../../domain/audit/list.ts';
import type { AuditVerifier } from '../../domain/audit/verify.ts';
import type { Backups } from '../../domain/backup/backup.ts';
import type { KeyRotation } from '../../domain/key-rotation/key-rotation.ts';
import type { LimitedAccounts } from '../../domain/limited-accounts/service.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { InTime, Usages } from '../../domain/metering/usage.ts';
import type { Origin } from '../../domain/mutation/step.ts';
import type { Rollouts } from '../../domain/otel-config/rollout.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { AppConsents } from '../../domain/resource-bindings/app-consents.ts';
import type { ReviewQueue } from '../../domain/review-queue/review-queue.ts';
import type { ListMadeKeys } from '../../domain/users/made-keys.ts';
import type { Links } from '../../domain/users/links.ts';
import type { UserDeletion } from '../../domain/users/user-deletion.ts';
import type { Users } from '../../domain/users/users.ts';
import { ACCOUNT_ID, APP_ID, ENTRY_ID, KEY_ID, pageQuery, USER_ID } from '../contract/fields.ts';
import type { Answered, Known } from '../contract/answers.ts';
import type { Answers, Operation } from '../contract/operation.ts';

/** The services that the operator API uses. */
export interface OperatorServices {
  readonly accounts: Accounts;
  readonly apiKeys: ApiKeys;
  readonly appConsents: AppConsents;
  readonly auditEntries: AuditEntries;
  readonly auditVerifier: AuditVerifier;
  readonly reviewQueue: ReviewQueue;
  readonly rollouts: Rollouts;
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
  /** The public origin of the panel; undefined where it is off. */
  readonly panelUrl: () => string | undefined;
}

/** The shapes of the ids in a path, by name; another shape is 404. */
const PATH_IDS = {
  accountId: ACCOUNT_ID,
  appId: APP_ID,
  keyId: KEY_ID,
  entryId: ENTRY_ID,
  userId: USER_ID,
} as const;
/** The ids in the path; `''` for a name that the path does not have. */
type PathIds = { readonly [Name in keyof typeof PATH_IDS]: string };

/** @throws Refusal `not_found` */
export function pathIds(params: Readonly<Record<string, string | string[]>>): PathIds {
  const idOf = (name: keyof PathIds): string => {
    const id = params[name] ?? '';
    if (typeof id !== 'string' || (name in params && !PATH_IDS[name].test(id))) throw new Refusal('not_found');
    return id;
  };
  return {
    accountId: idOf('accountId'),
    appId: idOf('appId'),
    keyId: idOf('keyId'),
    entryId: idOf('entryId'),
    userId: idOf('userId'),
  };
}

/** A request of the operator API as a handler gets it. */
export interface OperatorRequest<Body> extends PathIds {
  readonly origin: Origin;
  readonly body: Body;
  readonly query: URLSearchParams;
  /** The Idempotency-Key field where the operation takes one (H19). */
  readonly idempotencyKey: string | undefined;
  /**
   * The media type among these that the client prefers (RFC 9110, 12.5.1); the first one where it has no preference.
   */
  readonly accepts: (types: readonly string[]) => string | undefined;
  /**
   * Tells that data leaves the service (`AuditedExport`); to be awaited before the reply is given. A request for the headers
   * alone exports nothing.
   * @throws Busy; StoreUnavailable, but not where the store is full
   */
  readonly exporting: (what: Export, detail: Parameters<AuditedExport>[2], page: ExportedPage) => Promise<void>;
  /** Bounds one step of many by the time of a whole request, in a route with a deadline of its own. */
  readonly inTime: InTime;
}

/**
 * An operation of the operator API with its handler. Every wrong field is `invalid_request`. The handler throws Refusal,
 * StoreUnavailable and Busy.
 */
export interface OperatorRoute<Shape extends z.core.$ZodShape, A extends Answers = Answers> extends Operation<
  Shape,
  A
> {
  /** Milliseconds; longer than for other requests (H15) where the work has many steps, each bounded by `inTime`. */
  readonly deadlineMs?: number;
  handle(
    this: void,
    request: OperatorRequest<z.infer<z.ZodObject<Shape>>>,
    services: OperatorServices,
  ): MaybePromise<Answered<A>>;
}

/** Gives an operation its handler. It is curried, since the compiler widens literals of the answer in one call. */
export const handle =
  <Shape extends z.core.$ZodShape, A extends Answers>(operation: Operation<Shape, A> & Known<A>, deadlineMs?: number) =>
  (handler: OperatorRoute<Shape, A>['handle']): OperatorRoute<Shape, A> => ({
    ...operation,
    handle: handler,
    ...(deadlineMs !== undefined && { deadlineMs }),
  });

/**
 * Reads `limit` and `after` of a list.
 * @throws Refusal `invalid_request`
 */
export function pageOf(query: URLSearchParams): { limit: number; after: string | undefined } {
  const parsed = pageQuery.safeParse(Object.fromEntries(query));
  if (parsed.success) return { limit: parsed.data.limit, after: parsed.data.after };
  const field = parsed.error.issues[0]?.path[0] === 'after' ? 'after' : 'limit';
  throw new Refusal(
    'invalid_request',
    field === 'after' ? 'after: use the next of the page before.' : `limit: 1 to ${LIMITS.listPageMax}.`,
  );
}
