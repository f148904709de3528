import type { Clock } from '../../time/clock.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
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
const FORGOTTEN_AFTER_MS = 2 * HOUR_MS;

interface Counted {
  readonly since: number;
  count: number;
  readonly keyIds: Set<string>;
  readonly clients: Set<string>;
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
      keyIds: new Set<string>(),
      clients: new Set<string>(),
      triedAt,
    };
    counted.count += 1;
    counted.triedAt = triedAt;
    if (keyId !== undefined) add(counted.keyIds, keyId);
    add(counted.clients, client);
    this.#byAccount.delete(of);
    const [oldest] = this.#byAccount.keys();
    if (oldest !== undefined && this.#byAccount.size >= TRIED_ACCOUNTS_MAX) this.#byAccount.delete(oldest);
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
      keyIds: [...keyIds],
      clients: [...clients],
    }));
    return { attempts };
  }
}

function add(names: Set<string>, name: string): void {
  if (names.size < TRIED_NAMES_MAX) names.add(name.slice(0, NAME_CHARACTERS_MAX));
}
