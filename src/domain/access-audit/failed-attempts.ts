import type { Sections } from '../../metrics/instruments/sections.ts';
import { RecentMap } from '../../packed/recent-map.ts';
import type { Clock } from '../../time/clock.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import {
  type AtLimit,
  type Attempts,
  callerRefused,
  limitMet,
  roleRefusalsOf,
  signInsOf,
  userOfSignIns,
} from '../records/attempt-records.ts';

/** The ways in which people sign in. */
export const SIGN_IN_WAYS = ['password', 'passkey', 'link', 'provider'] as const;
export type SignInWay = (typeof SIGN_IN_WAYS)[number];

/** The kinds of secrets that a client tries to get in with. */
const CREDENTIAL_KINDS = [
  'api_key',
  'access_token',
  'operator_token',
  'enroll_code',
  'device_credential',
  ...SIGN_IN_WAYS,
] as const;
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number];

/**
 * Why it is refused. `once_valid` is a code that was valid once, `wrong_secret` one for a key id or a user that exists,
 * `disabled` a right one of a user who is, `other_address` a right one from where it may not be used, `refused` what
 * the provider, or its groups, let nobody in by.
 */
const ATTEMPT_REASONS = [
  'malformed',
  'unknown',
  'wrong_secret',
  'expired',
  'once_valid',
  'disabled',
  'other_address',
  'refused',
] as const;
export type AttemptReason = (typeof ATTEMPT_REASONS)[number];

/** A secret that did not let its client in. */
export interface FailedAttempt {
  readonly credential: CredentialKind;
  readonly reason: AttemptReason;
  /** The account of the key that was tried, where there is one. */
  readonly accountId?: string | undefined;
  readonly keyId?: string | undefined;
  /**
   * The user as whom somebody tried to sign in; absent where there is none. The text that was typed is told nowhere.
   */
  readonly userId?: string | undefined;
}

export function attemptMetrics({ requests }: Sections) {
  const failures = requests.labelledCounter({
    name: 'muster_authentication_failures_total',
    help: 'Secrets that let nobody in, by kind and reason; wrong_secret is of a key that exists, once_valid a code that was valid.',
    labels: { credential: CREDENTIAL_KINDS, reason: ATTEMPT_REASONS },
    unit: 'requests',
  });
  for (const credential of CREDENTIAL_KINDS)
    for (const reason of ATTEMPT_REASONS) failures.inc({ credential, reason }, 0);
  return {
    authenticationFailed: (credential: CredentialKind, reason: AttemptReason): void =>
      failures.inc({ credential, reason }),
  };
}
export type AttemptMetrics = ReturnType<typeof attemptMetrics>;

/** A failed secret, a refusal by role, or what an account met at a limit: the audit is to tell of it. */
interface FailedSecret {
  /** An account's id, or `operator`; or what `signInsOf`, `roleRefusalsOf` or `atLimitOf` gives. */
  readonly of: string;
  readonly keyId?: string | undefined;
  /** The way of a sign-in, or the role that is refused. */
  readonly way?: string | undefined;
  readonly client: string;
}

/** Those that a stranger who knows no key meets are not among them. */
const AUDITED_REASONS: ReadonlySet<AttemptReason> = new Set(['wrong_secret', 'other_address']);

const isWay = (credential: CredentialKind): credential is SignInWay =>
  (SIGN_IN_WAYS as readonly string[]).includes(credential);

/**
 * Counts a failed secret. The audit hears of one later: no refusal waits for it.
 * @param client the address of the client
 * @returns what the log says of it
 */
export function countAttempt(
  attempt: FailedAttempt,
  client: string,
  { metrics, attempts }: { readonly metrics: AttemptMetrics; readonly attempts: Pick<FailedAttempts, 'failed'> },
): object {
  const { credential, reason, accountId, keyId, userId } = attempt;
  metrics.authenticationFailed(credential, reason);
  if (isWay(credential)) attempts.failed({ of: signInsOf(userId), way: credential, client });
  else if (AUDITED_REASONS.has(reason)) attempts.failed({ of: accountId ?? OPERATOR_AUDIT, keyId, client });
  return { credential, why: reason, accountId, keyId, userId };
}

/** Accounts in memory; for a further one, the one that was tried longest ago makes room. */
export const TRIED_ACCOUNTS_MAX = 100;
/** The same for users. What was counted of one who makes room is told of nobody: it is never lost. */
export const TRIED_USERS_MAX = 50;
/** The same for callers whose role does not include what they ask for. */
export const REFUSED_CALLERS_MAX = 50;
/** The same for accounts at each of the limits. */
export const LIMITED_ACCOUNTS_MAX = 100;
/** Keys and clients by account. */
export const TRIED_NAMES_MAX = 5;
const NAME_CHARACTERS_MAX = 45;
/** The leader has entered it long since. */
export const FORGOTTEN_AFTER_MS = 2 * HOUR_MS;

/** The instant at which each name was tried last, on the monotonic clock; the latest is last. */
type Names = RecentMap<string, number>;

interface Counted {
  readonly since: number;
  count: number;
  readonly keyIds: Names;
  readonly clients: Names;
  readonly ways: Names;
  triedAt: number;
}

/** The counts of one kind, within its bound. */
interface Tried {
  /** The one that was tried last is last. */
  readonly counted: Map<string, Counted>;
  readonly max: number;
  /** Attempts at many others must not hide those at this one; undefined where all are alike. */
  readonly kept: string | undefined;
}

/**
 * The failed secrets, the refusals by role and those at limits that this replica has seen, by account, user or caller,
 * within bounds: the leader reads them, and no refusal waits.
 */
export class FailedAttempts {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly #secrets: Tried = { counted: new Map(), max: TRIED_ACCOUNTS_MAX, kept: OPERATOR_AUDIT };
  readonly #signIns: Tried = { counted: new Map(), max: TRIED_USERS_MAX, kept: signInsOf() };
  readonly #roles: Tried = { counted: new Map(), max: REFUSED_CALLERS_MAX, kept: roleRefusalsOf() };
  readonly #limits: Readonly<Record<AtLimit, Tried>> = {
    'limit.reached': { counted: new Map(), max: LIMITED_ACCOUNTS_MAX, kept: undefined },
    'rate.limited': { counted: new Map(), max: LIMITED_ACCOUNTS_MAX, kept: undefined },
  };

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock;
  }

  failed({ of, keyId, way, client }: FailedSecret): void {
    const triedAt = this.#clock.monotonic();
    const { counted: all, max, kept } = this.#triedOf(of);
    const counted = all.get(of) ?? {
      since: this.#clock.now(),
      count: 0,
      keyIds: new RecentMap(TRIED_NAMES_MAX),
      clients: new RecentMap(TRIED_NAMES_MAX),
      ways: new RecentMap(TRIED_NAMES_MAX),
      triedAt,
    };
    counted.count += 1;
    counted.triedAt = triedAt;
    if (keyId !== undefined) add(counted.keyIds, keyId, triedAt);
    if (way !== undefined) add(counted.ways, way, triedAt);
    add(counted.clients, client, triedAt);
    all.delete(of);
    if (all.size >= max) {
      const oldest = all.entries().find(([one]) => one !== kept);
      if (oldest) {
        all.delete(oldest[0]);
        // A failed key of an account is no failed token of the operator.
        if (kept !== undefined && kept !== OPERATOR_AUDIT) foldInto(all, kept, oldest[1]);
      }
    }
    all.set(of, counted);
  }

  /** The attempts that are to be published: nothing where nobody has tried for two hours. */
  published(): { attempts?: Attempts[]; signIns?: Attempts[]; roleRefusals?: Attempts[]; atLimits?: Attempts[] } {
    const attempts = this.#published(this.#secrets);
    const signIns = this.#published(this.#signIns);
    const roleRefusals = this.#published(this.#roles);
    const atLimits = Object.values(this.#limits).flatMap((tried) => this.#published(tried));
    return {
      ...(attempts.length > 0 && { attempts }),
      ...(signIns.length > 0 && { signIns }),
      ...(roleRefusals.length > 0 && { roleRefusals }),
      ...(atLimits.length > 0 && { atLimits }),
    };
  }

  #triedOf(of: string): Tried {
    const met = limitMet(of);
    if (met) return this.#limits[met.limit];
    if (callerRefused(of) !== undefined) return this.#roles;
    return userOfSignIns(of) === undefined ? this.#secrets : this.#signIns;
  }

  #published({ counted: all }: Tried): Attempts[] {
    const now = this.#clock.monotonic();
    for (const [of, { triedAt }] of all) if (now - triedAt >= FORGOTTEN_AFTER_MS) all.delete(of);
    return [...all].map(([of, { since, count, keyIds, clients, ways }]) => ({
      of,
      since,
      count,
      keyIds: namesSince(keyIds, now - HOUR_MS),
      clients: namesSince(clients, now - HOUR_MS),
      ...(ways.size > 0 && { ways: namesSince(ways, now - HOUR_MS) }),
    }));
  }
}

/** Adds what was counted of one who makes room to the entry that stays. */
function foldInto(all: Map<string, Counted>, kept: string, gone: Counted): void {
  const into = all.get(kept);
  if (!into) return void all.set(kept, gone);
  into.count += gone.count;
  into.triedAt = Math.max(into.triedAt, gone.triedAt);
  for (const names of ['clients', 'ways'] as const) {
    for (const [name, triedAt] of gone[names]) add(into[names], name, triedAt);
  }
}

const add = (names: Names, name: string, triedAt: number): Names =>
  names.set(name.slice(0, NAME_CHARACTERS_MAX), triedAt);

/** An entry is for the hour since the one before: it must not accuse who tried earlier. The latest is first. */
const namesSince = (names: ReadonlyMap<string, number>, from: number): string[] =>
  [...names].flatMap(([name, triedAt]) => (triedAt > from ? [name] : [])).toReversed();
