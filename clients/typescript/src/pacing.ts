import type { RawAnswer } from './attempt.ts';
import { aborted } from './errors.ts';
import { onAbort, type Timing } from './timing.ts';

/*
 * Keeps the calls of an owner within the rate of the account. What is known comes with each answer: the requests that
 * are left (`r`), and the seconds until the next one is free (`t`). While more than four fifths of the quota are left,
 * calls go on at once; then they are spread evenly, so that what was spent first is free again when the rest is used
 * up.
 */

/** A call that may be sent. */
export interface Turn {
  /** To be called once, with the answer, or with undefined where there is none. */
  answered(answer: Pick<RawAnswer, 'status' | 'headers'> | undefined): void;
}

interface Waiting {
  readonly go: (turn: Turn) => void;
}

/** How long the first calls wait for the answer to the very first, which tells what is left. */
const PROBE_MS_MAX = 1000;
/** Between two calls that still have some of the quota's last fifth. */
const SLOW_MS_MAX = 2000;
/** An account's window is a minute; whoever tells of a longer one than this is not believed. */
const WINDOW_SECONDS_MAX = 600;
/** The service may free a request so long after its window. */
const WINDOW_SLACK_MS = 5000;
/** The part of the quota above which nothing waits. */
const PACED_BELOW = 0.8;

export class Pacer {
  readonly #timing: Timing;
  #waiting: Waiting[] = [];
  #stopTimer = (): void => undefined;
  #quota = 600;
  #windowMs = 60_000;
  /** Requests left, as far as is known; undefined before the first answer, and once it is too old. */
  #left: number | undefined;
  /** When the next request that was spent is free again. */
  #freesAt = 0;
  #learntAt = 0;
  #lastAt = Number.NEGATIVE_INFINITY;
  /** The number of the last call that went, and of the last one that was answered. */
  #gone = 0;
  #known = 0;
  #inFlight = 0;

  constructor(timing: Timing) {
    this.#timing = timing;
  }

  /**
   * Resolves when a call may go.
   * @param withinMs for a call that has gone before: it goes before all that wait, and not at all after that time
   * @returns undefined where that time is up
   * @throws MusterError `aborted`
   */
  turn(signal: AbortSignal | undefined, withinMs?: number): Promise<Turn | undefined> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
        stopTimer();
        stopListening();
      };
      const abort = (): void => {
        leave();
        if (signal) reject(aborted(signal));
        this.#letGo();
      };
      const giveUp = (): void => {
        leave();
        resolve(undefined);
        this.#letGo();
      };
      const waiting: Waiting = {
        go: (turn) => {
          leave();
          resolve(turn);
        },
      };
      const stopTimer = withinMs === undefined ? () => undefined : this.#timing.after(withinMs, giveUp);
      const stopListening = onAbort(signal, abort);
      if (withinMs === undefined) this.#waiting.push(waiting);
      else this.#waiting.unshift(waiting);
      this.#letGo();
    });
  }

  #letGo(): void {
    this.#stopTimer();
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      const now = this.#timing.now();
      const at = this.#nextAt(now);
      if (at > now) {
        // Where it is an answer that is waited for, that comes here by itself.
        if (at < Number.POSITIVE_INFINITY) this.#stopTimer = this.#timing.after(at - now, () => this.#letGo());
        return;
      }
      this.#waiting.shift();
      this.#lastAt = now;
      next.go(this.#depart());
    }
  }

  #nextAt(now: number): number {
    if (now - this.#learntAt >= this.#windowMs) this.#left = undefined;
    const left = this.#left;
    if (left === undefined) return this.#inFlight === 0 ? now : this.#lastAt + PROBE_MS_MAX;
    // One call finds out what is left.
    if (left <= 0) return this.#inFlight === 0 ? this.#freesAt : Number.POSITIVE_INFINITY;
    return this.#lastAt + this.#intervalMs(left, now);
  }

  #intervalMs(left: number, now: number): number {
    const unpaced = this.#quota * PACED_BELOW;
    if (left > unpaced) return 0;
    const even = this.#windowMs / unpaced;
    // The last fifth is a reserve: it is used the more slowly the less there is of it.
    const sparing = Math.min(SLOW_MS_MAX, (even * (this.#quota - unpaced)) / left);
    return Math.max(even, sparing, (this.#freesAt - now) / left);
  }

  #depart(): Turn {
    const number = (this.#gone += 1);
    const before = this.#inFlight;
    this.#inFlight += 1;
    if (this.#left !== undefined) this.#left = Math.max(0, this.#left - 1);
    return {
      answered: (answer) => {
        this.#inFlight -= 1;
        if (answer && number > this.#known) {
          this.#known = number;
          // Calls that were on their way beside this one may have been charged before it, or after.
          this.#learn(answer, before + this.#gone - number);
        }
        this.#letGo();
      },
    };
  }

  #learn({ status, headers }: Pick<RawAnswer, 'status' | 'headers'>, beside: number): void {
    const now = this.#timing.now();
    const told = rateOf(headers);
    if (!told) {
      // Something on the way leaves the fields out: nothing can be known, and a 429 is waited out.
      if (status < 300) [this.#left, this.#learntAt] = [Number.POSITIVE_INFINITY, now];
      return;
    }
    const { left, freesInSeconds, quota = this.#quota, windowSeconds = this.#windowMs / 1000 } = told;
    [this.#quota, this.#windowMs] = [quota, windowSeconds * 1000];
    this.#left = Math.min(left, Math.max(left - beside, this.#left ?? 0));
    // A first turn waits without a time limit of its own: no answer makes that longer than what was spent is
    // remembered.
    this.#freesAt = now + Math.min(freesInSeconds * 1000, this.#windowMs + WINDOW_SLACK_MS);
    this.#learntAt = now;
  }
}

interface Rate {
  readonly left: number;
  readonly freesInSeconds: number;
  readonly quota?: number | undefined;
  readonly windowSeconds?: number | undefined;
}

/** Reads `RateLimit: "account";r=479;t=60` and `RateLimit-Policy: "account";q=600;w=60`. */
function rateOf(headers: Headers): Rate | undefined {
  const limit = parametersOf(headers.get('ratelimit'));
  const policy = parametersOf(headers.get('ratelimit-policy'));
  const [left, freesInSeconds] = [limit.get('r'), limit.get('t')];
  if (left === undefined || freesInSeconds === undefined) return undefined;
  const [quota = 0, windowSeconds = 0] = [policy.get('q'), policy.get('w')];
  const isWindow = quota > 0 && windowSeconds > 0 && windowSeconds <= WINDOW_SECONDS_MAX;
  return { left, freesInSeconds, ...(isWindow && { quota, windowSeconds }) };
}

/** The whole numbers of the item `"account"`, by name. */
function parametersOf(field: string | null): ReadonlyMap<string, number> {
  const item = (field ?? '').split(',').find((one) => one.trim().startsWith('"account"')) ?? '';
  const numbers = item.matchAll(/;\s*([a-z])=(\d{1,9})(?![\w.])/g);
  return new Map(Array.from(numbers, ([, name = '', value]) => [name, Number(value)]));
}
