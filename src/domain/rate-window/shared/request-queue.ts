import type { Clock } from '../../../time/clock.ts';
import type { Deadlines } from '../../limits.ts';
import { Busy } from '../../refusal.ts';
import type { RateDecision } from '../local-window.ts';
import { RATE_WAITING_MAX } from './rules.ts';

interface WaitingRequest {
  readonly resolve: (decision: RateDecision) => void;
  readonly reject: (error: unknown) => void;
  /** When it came, on the monotonic clock. */
  readonly since: number;
}

export interface RequestQueueDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly deadlines: Pick<Deadlines, 'requestMs'>;
}

/** Requests that wait for a decision, in the order in which they came. */
export class RequestQueue {
  readonly #deps: RequestQueueDeps;
  #queue: WaitingRequest[] = [];

  constructor(deps: RequestQueueDeps) {
    this.#deps = deps;
  }

  get count(): number {
    return this.#queue.length;
  }

  /** @throws Busy when too many wait */
  add(): Promise<RateDecision> {
    if (this.count >= RATE_WAITING_MAX) {
      throw new Busy('queue_full', 'Too many requests of one account wait for its rate window.');
    }
    const { promise, resolve, reject } = Promise.withResolvers<RateDecision>();
    this.#queue.push({ resolve, reject, since: this.#deps.clock.monotonic() });
    return promise;
  }

  /** Decides `count` requests, behind the first `after` ones. */
  decide(decision: () => RateDecision, count: number, after = 0): void {
    for (const { resolve } of this.#queue.splice(after, count)) resolve(decision());
  }

  fail(error: unknown): void {
    for (const { reject } of this.#queue.splice(0)) reject(error);
  }

  /**
   * Rejects the requests that were answered with 502 by now, so that they are not charged. Units that are charged
   * already (`charged`), and that the requests in time do not need, are spent on late ones all the same: others may
   * have been refused over these units.
   */
  rejectLate(charged: number, decision: () => RateDecision): void {
    const { clock, deadlines } = this.#deps;
    const since = clock.monotonic() - deadlines.requestMs;
    const firstInTime = this.#queue.findIndex((one) => one.since >= since);
    const late = firstInTime < 0 ? this.count : firstInTime;
    const spare = Math.max(0, charged - (this.count - late));
    this.decide(decision, Math.min(late, spare));
    for (const { reject } of this.#queue.splice(0, Math.max(0, late - spare))) {
      reject(new Busy('late', 'The rate window was not decided in time.'));
    }
  }
}
