import * as z from 'zod';
import { record, type RecordOf } from './registry.ts';

/*
 * Failed secrets, and refusals by role: as a replica publishes them, and as the leader has entered them in the audit.
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

/** The failed secrets for one account, or for the operator, that a replica has counted since an instant. */
const attemptsSchema = z.looseObject({
  /**
   * An account's id, or `operator`; of sign-ins `user:<userId>`, or `user:` for a name that nobody has; of
   * refusals by role `role:<actor>`.
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
