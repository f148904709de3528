import type { Log } from '../../log.ts';
import type { Clock } from '../../time/clock.ts';
import { SlidingCount } from './sliding-count.ts';
import type { LimitedAccount } from '../records/replica-records.ts';

/** A request that was refused with 429. */
export interface RefusedRequest {
  readonly accountId: string;
  readonly keyId: string;
  readonly method: string;
  /** The template of the route, or `(none)`. */
  readonly route: string;
  /** Seconds until the next unit is free. */
  readonly freesInSeconds: number;
}

/** Accounts in memory: those with the most refusals stay. */
export const ACCOUNTS_IN_MEMORY_MAX = 200;
export const KEYS_PER_ACCOUNT_MAX = 5;
export const OPERATIONS_PER_KEY_MAX = 5;
/** Everything above these two bounds is counted under this name. */
export const OTHERS = 'others';
/** An account that was not refused for this long is limited no longer. */
const LIMITED_MS = 60_000;
const LINE_EVERY_MS = 60_000;

type Operations = Map<string, SlidingCount>;

/** One account while it is limited. Instants are monotonic, but for those of the wall clock. */
interface Limited {
  readonly accountId: string;
  /** On the wall clock: the first refusal since the last minute without one. */
  readonly since: number;
  readonly count: SlidingCount;
  readonly byKey: Map<string, Operations>;
  /** On the wall clock: when the next unit is free, as of the last refusal. */
  liftsAt: number;
  refusedAt: number;
  toldAt: number;
}

/**
 * The requests that this replica refused in the last 60 s, by account, key and operation: for whoever asks which
 * account is limited, and by what. It is bounded, however many accounts, keys and operations there are.
 */
export class RefusedRequests {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly #log: Log;
  readonly #accounts = new Map<string, Limited>();

  constructor({ clock, log }: { readonly clock: Pick<Clock, 'now' | 'monotonic'>; readonly log: Log }) {
    [this.#clock, this.#log] = [clock, log];
  }

  refused(request: RefusedRequest): void {
    const now = this.#clock.monotonic();
    const wall = this.#clock.now();
    const account = this.#accountOf(request.accountId, now, wall);
    account.refusedAt = now;
    account.liftsAt = wall + request.freesInSeconds * 1000;
    account.count.add(now);
    const operations = bounded(account.byKey, request.keyId, KEYS_PER_ACCOUNT_MAX, (): Operations => new Map());
    const operation = `${request.method} ${request.route}`;
    bounded(operations, operation, OPERATIONS_PER_KEY_MAX, () => new SlidingCount()).add(now);
    if (now - account.toldAt >= LINE_EVERY_MS) this.#tell(account, request, now);
  }

  /** The accounts that were refused in the last 60 s, the most refused first. */
  accounts(): readonly LimitedAccount[] {
    const now = this.#clock.monotonic();
    this.#forget(now);
    return [...this.#accounts.values()]
      .map(({ accountId, since, liftsAt, count, byKey }) => ({
        accountId,
        refused: count.at(now),
        since,
        liftsAt,
        by: [...byKey].flatMap(([keyId, operations]) =>
          [...operations]
            .map(([operation, counted]) => ({ keyId, operation, refused: counted.at(now) }))
            .filter(({ refused }) => refused > 0),
        ),
      }))
      .sort((one, other) => other.refused - one.refused);
  }

  #accountOf(accountId: string, now: number, wall: number): Limited {
    const known = this.#accounts.get(accountId);
    if (known && now - known.refusedAt < LIMITED_MS) return known;
    if (!known && this.#accounts.size >= ACCOUNTS_IN_MEMORY_MAX) this.#makeRoom(now);
    const account: Limited = {
      accountId,
      since: wall,
      count: new SlidingCount(),
      byKey: new Map(),
      liftsAt: wall,
      refusedAt: now,
      toldAt: Number.NEGATIVE_INFINITY,
    };
    this.#accounts.set(accountId, account);
    return account;
  }

  /** Removes the accounts that are limited no longer; where all are, the one with the fewest refusals. */
  #makeRoom(now: number): void {
    this.#forget(now);
    if (this.#accounts.size < ACCOUNTS_IN_MEMORY_MAX) return;
    let [fewest, least] = ['', Number.POSITIVE_INFINITY];
    for (const { accountId, count } of this.#accounts.values()) {
      const refused = count.at(now);
      if (refused < least) [fewest, least] = [accountId, refused];
    }
    this.#accounts.delete(fewest);
  }

  #forget(now: number): void {
    for (const [accountId, { refusedAt }] of this.#accounts) {
      if (now - refusedAt >= LIMITED_MS) this.#accounts.delete(accountId);
    }
  }

  #tell(account: Limited, { accountId, keyId, method, route }: RefusedRequest, now: number): void {
    account.toldAt = now;
    const [refused, liftsAt] = [account.count.at(now), new Date(account.liftsAt).toISOString()];
    this.#log.info({ accountId, keyId, method, route, refused, liftsAt }, 'an account is rate limited');
  }
}

/** The value of a key, or of the others where the map has no place for another one. */
function bounded<T>(map: Map<string, T>, key: string, max: number, make: () => T): T {
  const known = map.get(key);
  if (known !== undefined) return known;
  const name = map.size < max ? key : OTHERS;
  const value = map.get(name) ?? make();
  map.set(name, value);
  return value;
}
