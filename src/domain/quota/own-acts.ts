import { RecentMap } from '../../packed/recent-map.ts';
import type { Clock } from '../../time/clock.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import { LIMITS } from '../limits.ts';
import { Refusal } from '../refusal.ts';

interface Allowance {
  readonly burst: number;
  readonly perHour: number;
}

const CHANGES: Allowance = { burst: LIMITS.ownChangesBurst, perHour: LIMITS.ownChangesPerHour };
const SIGN_INS: Allowance = { burst: LIMITS.ownSignInsBurst, perHour: LIMITS.ownSignInsPerHour };

/**
 * Acts that a person does of their own and that leave an entry in the audit of the service, where no account is charged
 * with it. What ends something (a session, a passkey) can be repeated only after one of these.
 */
const ALLOWANCES: ReadonlyMap<string, Allowance> = new Map([
  ['user.changed', CHANGES],
  ['password.changed', CHANGES],
  ['passkey.added', CHANGES],
  ['identity.linked', CHANGES],
  ['usage.exported', CHANGES],
  ['audit.exported', CHANGES],
  ['session.created', SIGN_INS],
]);

interface Used {
  /** Acts that are used up, of `burst`; they come back with time. */
  readonly acts: number;
  readonly at: number;
}

/** Counts what persons do, in this replica: a bound on the bytes that one of them adds to the audit of the service. */
export class OwnActs {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** The acts by action and person; whoever did something last is the last. */
  readonly #used = new RecentMap<string, Used>(LIMITS.usersMax * 2);

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** @throws Refusal `rate_limited` with the time after which one more is free */
  count(userId: string, action: string): void {
    const allowance = ALLOWANCES.get(action);
    if (!allowance) return;
    const name = `${action} ${userId}`;
    const [now, each] = [this.#clock.monotonic(), HOUR_MS / allowance.perHour];
    const { acts, at } = this.#used.get(name) ?? { acts: 0, at: now };
    const used = Math.max(0, acts - (now - at) / each);
    if (used > allowance.burst - 1) {
      const waitMs = (used - (allowance.burst - 1)) * each;
      throw new Refusal('rate_limited', 'You have done this very often; come back after the time in Retry-After.', {
        retryAfterSeconds: Math.ceil(waitMs / 1000),
      });
    }
    this.#used.set(name, { acts: used + 1, at: now });
  }
}
