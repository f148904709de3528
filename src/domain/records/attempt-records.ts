import * as z from 'zod';
import { record, type RecordOf } from './registry.ts';

/*
 * Failed secrets, refusals by role, and what an account meets at its limits: as a replica publishes them, and as the
 * leader has entered them in the audit.
 */

const SIGN_INS = 'user:';
/** Under what the failed sign-ins of a user are counted, or of a name that nobody has. */
export const signInsOf = (userId = ''): string => SIGN_INS + userId;
/** The user of failed sign-ins, `''` for a name that nobody has; undefined for other secrets. */
export const userOfSignIns = (of: string): string | undefined =>
  of.startsWith(SIGN_INS) ? of.slice(SIGN_INS.length) : undefined;

const ROLES = 'role:';
/** Under what the refusals by role of a caller are counted, or of callers who made room. */
export const roleRefusalsOf = (caller = ''): string => ROLES + caller;
/** The caller of refusals by role, `''` for those who made room; undefined for anything else. */
export const callerRefused = (of: string): string | undefined =>
  of.startsWith(ROLES) ? of.slice(ROLES.length) : undefined;

/** The limits that an account meets, by the action that tells of it: no place for an app (A10), and 429 (H13). */
export type AtLimit = 'limit.reached' | 'rate.limited';
const AT_LIMIT = /^(limit\.reached|rate\.limited):(.*)$/;
/** Under what it is counted. */
export const atLimitOf = (limit: AtLimit, accountId: string): string => `${limit}:${accountId}`;
/** The limit and the account that are counted so; undefined for anything else. */
export function limitMet(of: string): { readonly limit: AtLimit; readonly accountId: string } | undefined {
  const [, limit, accountId] = AT_LIMIT.exec(of) ?? [];
  if (accountId === undefined) return undefined;
  return { limit: limit === 'limit.reached' ? limit : 'rate.limited', accountId };
}

/** The failed secrets for one account, or for the operator, that a replica has counted since an instant. */
const attemptsSchema = z.looseObject({
  /**
   * An account's id, or `operator`; of sign-ins `user:<userId>`, or `user:` for a name that nobody has; of
   * refusals by role `role:<actor>`; at limits `limit.reached:<accountId>` or `rate.limited:<accountId>`.
   */
  of: z.string(),
  /** When the count began, on the replica's wall clock. */
  since: z.int(),
  count: z.int().min(0),
  /** The ids of the keys that were tried within the hour, and the addresses of the clients: the latest of them. */
  keyIds: z.array(z.string()),
  clients: z.array(z.string()),
  /** The ways of sign-ins that were tried within the hour, or the roles that were refused. */
  ways: z.array(z.string()).optional(),
});
export type Attempts = z.infer<typeof attemptsSchema>;
export const publishedAttemptsSchema = z.array(attemptsSchema);

const enteredSchema = z.looseObject({
  at: z.int().min(0),
  count: z.int().min(0),
  clients: z.array(z.string()),
  ways: z.array(z.string()),
});
/** An entry of the audit about failed sign-ins, as its user sees it. */
export type EnteredSignIns = z.infer<typeof enteredSchema>;

export const attemptRecords = {
  /**
   * `owner` is an account, `operator`, `signInsOf` a user or `roleRefusalsOf` a caller. `counted` has the counts of
   * each replica that have entered it.
   */
  attempted: record('attempted/<owner>', {
    schema: z.looseObject({
      at: z.int().min(0),
      /** The latest entries of a user, the newest last. */
      last: z.array(enteredSchema).optional(),
      counted: z.record(z.string(), z.looseObject({ since: z.int(), count: z.int().min(0) })),
    }),
    writeClass: 'growth',
    backup: 'left out',
    removedBy: 'domain/users where it is of a user',
    holds: 'when failed secrets, or refusals by role, last entered the audit, and their counts; quiet',
  }),
};
export type AttemptedRecord = RecordOf<typeof attemptRecords.attempted>;
