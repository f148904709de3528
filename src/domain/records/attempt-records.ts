import * as z from 'zod';
import { LIMITS } from '../limits.ts';
import { record, type RecordOf } from './registry.ts';
import { instant } from './shapes.ts';

/*
 * Failed secrets, and refusals by role: as a replica publishes them, and as the leader has entered them in the audit.
 * Beside them stands what judges the next sign-in.
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

/** A browser that a user has signed in from, by a hash of its mark, the user and the password. */
const knownBrowserSchema = z.looseObject({
  hash: z.string(),
  until: instant,
  /** Attempts since the last success, the one under way included. */
  failures: z.int().min(0),
});
export type KnownBrowser = z.infer<typeof knownBrowserSchema>;

/** The records `sign-in-names/…`, and the names of each. */
export const SIGN_IN_NAMES_RECORDS = 64;
export const SIGN_IN_NAMES_PER_RECORD = LIMITS.signInNamesCounted / SIGN_IN_NAMES_RECORDS;
/** A name takes 8 bytes (domain/sign-ins/name-records.ts). */
const SIGN_IN_NAMES_TEXT = new RegExp(`^[A-Za-z0-9+/]{${Math.ceil((SIGN_IN_NAMES_PER_RECORD * 64) / 6)}}={0,2}$`);

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
  /** The facts that judge the next sign-in of a user. */
  signIns: record('sign-ins/<userId>', {
    schema: z.looseObject({
      /** The signature counters of passkeys, by the id of the credential. */
      counters: z.record(z.string(), z.int().min(0)),
      /** The browser of the last sign-in is last. */
      known: z.array(knownBrowserSchema).optional(),
      /**
       * Challenges that a passkey has answered, by a hash: each is good once, at most `LIMITS.passkeyAnswersKeptMax`.
       */
      answered: z.array(z.looseObject({ hash: z.string(), until: instant })).optional(),
    }),
    writeClass: 'upkeep',
    backup: 'left out',
    ownedBy: 'user',
    holds: 'known browsers of a user, what passkeys have answered; quiet',
  }),
  /** Failed sign-ins by the keyed hash of a name, packed. */
  signInNames: record('sign-in-names/<number>', {
    schema: z.looseObject({ failures: z.string().regex(SIGN_IN_NAMES_TEXT) }),
    // The size is fixed. Without it nobody is let in from a browser that is not known.
    writeClass: 'vital',
    backup: 'left out',
    holds: 'failed sign-ins by the keyed hashes of 64 names, packed; quiet',
  }),
};
export type AttemptedRecord = RecordOf<typeof attemptRecords.attempted>;
export type SignInsRecord = RecordOf<typeof attemptRecords.signIns>;
