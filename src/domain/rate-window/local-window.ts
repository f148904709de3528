import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { Clock } from '../../time/clock.ts';
import { LIMITS } from '../limits.ts';
import { TimestampRing } from './timestamp-ring.ts';

/** The account's window after a request was charged, or refused. */
export interface RateDecision {
  readonly admitted: boolean;
  /** Requests left at this moment. */
  readonly left: number;
  /** Seconds until the next unit is free, at least 1. */
  readonly freesInSeconds: number;
}

/** H13: at most 600 requests of an account in any 60 s, on one process or over all replicas. */
export interface RateWindow {
  /**
   * Charges one request. The window of one process decides at once; the one that replicas share may ask the store.
   * @throws StoreUnavailable; Busy when the decision comes too late, or too many requests of the account wait for it
   */
  charge(accountId: string): MaybePromise<RateDecision>;
  /** How full the windows of the accounts with requests in the last minute are, each above 0 and up to 1. */
  fills(): readonly number[];
  /** How many accounts were refused in the last minute. */
  accountsLimitedLately(): number;
}

/** By account, the instants of its requests in milliseconds since 1970, oldest first: a clean restart keeps them. */
export type SavedWindows = ReadonlyMap<string, readonly number[]>;

export interface LocalRateWindow extends RateWindow {
  save(): SavedWindows;
  /** Adds saved requests to the windows, each with the age that it has now. */
  restore(saved: SavedWindows): void;
}

/** Creates the window of one process: it is exact, and has the instants of the last 60 s of each account in memory. */
export function createLocalRateWindow(clock: Clock): LocalRateWindow {
  const rings = new Map<string, TimestampRing>();
  const limitedAt = new Map<string, number>();
  let sweptAt = clock.monotonic();

  function sweep(now: number): void {
    if (now - sweptAt < LIMITS.rateWindowMs) return;
    sweptAt = now;
    for (const [accountId, ring] of rings) if (countAt(ring, now) === 0) rings.delete(accountId);
    for (const [accountId, at] of limitedAt) if (now - at >= LIMITS.rateWindowMs) limitedAt.delete(accountId);
  }

  function ringOf(accountId: string): TimestampRing {
    let ring = rings.get(accountId);
    if (!ring) rings.set(accountId, (ring = new TimestampRing()));
    return ring;
  }

  return {
    charge(accountId) {
      const now = clock.monotonic();
      sweep(now);
      const ring = ringOf(accountId);
      const admitted = countAt(ring, now) < LIMITS.requestsPerWindowMax;
      if (admitted) ring.push(now);
      else limitedAt.set(accountId, now);
      const freesInMs = LIMITS.rateWindowMs - (now - ring.oldest());
      return {
        admitted,
        left: LIMITS.requestsPerWindowMax - ring.size,
        freesInSeconds: Math.max(1, Math.ceil(freesInMs / 1000)),
      };
    },

    fills() {
      const now = clock.monotonic();
      return [...rings.values()]
        .map((ring) => countAt(ring, now) / LIMITS.requestsPerWindowMax)
        .filter((ratio) => ratio > 0);
    },

    accountsLimitedLately() {
      const now = clock.monotonic();
      return [...limitedAt.values()].filter((at) => now - at < LIMITS.rateWindowMs).length;
    },

    save() {
      const [now, wall] = [clock.monotonic(), clock.now()];
      const saved = new Map<string, number[]>();
      for (const [accountId, ring] of rings) {
        if (countAt(ring, now) > 0)
          saved.set(
            accountId,
            ring.toArray().map((at) => Math.round(wall - (now - at))),
          );
      }
      return saved;
    },

    restore(saved) {
      const [now, wall] = [clock.monotonic(), clock.now()];
      for (const [accountId, instants] of saved) {
        const ring = ringOf(accountId);
        for (const at of instants.slice(-LIMITS.requestsPerWindowMax)) {
          // A clock that went back must not make the wait longer than a window.
          const age = Math.max(0, wall - at);
          if (age < LIMITS.rateWindowMs) ring.push(now - age);
        }
      }
    },
  };
}

/** Removes the instants that left the window, and counts the rest. */
function countAt(ring: TimestampRing, now: number): number {
  while (ring.size > 0 && now - ring.oldest() >= LIMITS.rateWindowMs) ring.shift();
  return ring.size;
}
