import { StoreUnavailable } from '../../../store/port.ts';
import type { Clock } from '../../../time/clock.ts';
import type { Deadlines } from '../../limits.ts';
import type { RateDecision } from '../local-window.ts';
import { RATE_WAITING_MAX } from './rules.ts';

interface Waiting {
  readonly resolve: (decision: RateDecision) => void;
  readonly reject: (error: unknown) => void;
  readonly since: number;
}

export interface WaitingDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly deadlines: Pick<Deadlines, 'requestMs'>;
}

/** Requests that wait for a decision, in the order in which they came. */
export class WaitingRequests {
  readonly #deps: WaitingDeps;
  #queue: Waiting[] = [];

  constructor(deps: WaitingDeps) {
    this.#deps = deps;
  }

  get count(): number {
    return this.#queue.length;
  }

  /** @throws StoreUnavailable when too many wait */
  add(): Promise<RateDecision> {
    if (this.count >= RATE_WAITING_MAX) {
      throw new StoreUnavailable('failed', 'Too many requests of one account wait for its rate window.');
    }
    const { promise, resolve, reject } = Promise.withResolvers<RateDecision>();
    this.#queue.push({ resolve, reject, since: this.#deps.clock.monotonic() });
    return promise;
  }

  /** So many of them, after so many others. */
  decide(decision: () => RateDecision, count: number, after = 0): void {
    for (const { resolve } of this.#queue.splice(after, count)) resolve(decision());
  }

  fail(error: unknown): void {
    for (const { reject } of this.#queue.splice(0)) reject(error);
  }

  /**
   * Those whose requests were answered with 502 by now: they shall not be charged. So many units were charged already, and
   * others may have been refused over them: what those who are in time do not need of these is spent on the late ones.
   */
  turnAwayLate(charged: number, decision: () => RateDecision): void {
    const { clock, deadlines } = this.#deps;
    const since = clock.monotonic() - deadlines.requestMs;
    const firstInTime = this.#queue.findIndex((one) => one.since >= since);
    const late = firstInTime < 0 ? this.count : firstInTime;
    const spare = Math.max(0, charged - (this.count - late));
    this.decide(decision, Math.min(late, spare));
    for (const { reject } of this.#queue.splice(0, Math.max(0, late - spare))) {
      reject(new StoreUnavailable('timeout', 'The rate window was not decided in time.'));
    }
  }
}
