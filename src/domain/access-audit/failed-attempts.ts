import type { Clock } from '../../time/clock.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import type { Attempts } from '../records/attempt-records.ts';

/** What a client tries to get in with. */
export const CREDENTIAL_KINDS = ['api_key', 'operator_token', 'enroll_code', 'device_credential'] as const;
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number];

/** Why it is refused. `once_valid` is a code that was valid once, `wrong_secret` one for a key id that exists. */
export const ATTEMPT_REASONS = ['malformed', 'unknown', 'wrong_secret', 'expired', 'once_valid'] as const;
export type AttemptReason = (typeof ATTEMPT_REASONS)[number];

export interface AttemptMetrics {
  authenticationFailed(credential: CredentialKind, reason: AttemptReason): void;
}

/** A failed secret that the audit is to tell of. */
export interface FailedSecret {
  /** An account's id, or `operator`. */
  readonly of: string;
  readonly keyId?: string | undefined;
  readonly client: string;
}

/** Accounts in memory; for a further one, the one that was tried longest ago makes room. */
export const TRIED_ACCOUNTS_MAX = 100;
/** Keys and clients by account. */
export const TRIED_NAMES_MAX = 5;
const NAME_CHARACTERS_MAX = 45;
/** The leader has entered it long since. */
export const FORGOTTEN_AFTER_MS = 2 * HOUR_MS;

interface Counted {
  readonly since: number;
  count: number;
  /** When each was tried last, on the monotonic clock; the latest is last. */
  readonly keyIds: Map<string, number>;
  readonly clients: Map<string, number>;
  triedAt: number;
}

/** The failed secrets that this replica has seen, by account, within bounds: the leader reads them, and no 401 waits. */
export class FailedAttempts {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  /** The account that was tried last is last. */
  readonly #byAccount = new Map<string, Counted>();

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock;
  }

  failed({ of, keyId, client }: FailedSecret): void {
    const triedAt = this.#clock.monotonic();
    const counted = this.#byAccount.get(of) ?? {
      since: this.#clock.now(),
      count: 0,
      keyIds: new Map<string, number>(),
      clients: new Map<string, number>(),
      triedAt,
    };
    counted.count += 1;
    counted.triedAt = triedAt;
    if (keyId !== undefined) add(counted.keyIds, keyId, triedAt);
    add(counted.clients, client, triedAt);
    this.#byAccount.delete(of);
    if (this.#byAccount.size >= TRIED_ACCOUNTS_MAX) {
      // Attempts at many accounts must not hide those at the operator's tokens.
      const oldest = this.#byAccount.keys().find((one) => one !== OPERATOR_AUDIT);
      if (oldest !== undefined) this.#byAccount.delete(oldest);
    }
    this.#byAccount.set(of, counted);
  }

  /** What is to be published: nothing where nobody has tried for two hours. */
  published(): { attempts?: Attempts[] } {
    const now = this.#clock.monotonic();
    for (const [of, { triedAt }] of this.#byAccount) {
      if (now - triedAt >= FORGOTTEN_AFTER_MS) this.#byAccount.delete(of);
    }
    if (this.#byAccount.size === 0) return {};
    const attempts = [...this.#byAccount].map(([of, { since, count, keyIds, clients }]) => ({
      of,
      since,
      count,
      keyIds: namesSince(keyIds, now - HOUR_MS),
      clients: namesSince(clients, now - HOUR_MS),
    }));
    return { attempts };
  }
}

/** The one that was tried longest ago makes room. */
function add(names: Map<string, number>, name: string, triedAt: number): void {
  const bounded = name.slice(0, NAME_CHARACTERS_MAX);
  names.delete(bounded);
  names.set(bounded, triedAt);
  const [oldest] = names.keys();
  if (names.size > TRIED_NAMES_MAX && oldest !== undefined) names.delete(oldest);
}

/** An entry is for the hour since the one before: it must not accuse who tried earlier. The latest is first. */
const namesSince = (names: ReadonlyMap<string, number>, from: number): string[] =>
  [...names].flatMap(([name, triedAt]) => (triedAt > from ? [name] : [])).toReversed();
