import type { Log } from '../log.ts';
import type { Clock } from '../time/clock.ts';
import type { StoreTrouble, StoreUnavailable } from './port.ts';

/** H15: an outage is known by then. What is shorter (a leader change of etcd) needs nobody to act. */
export const OUTAGE_MS = 2_000;

/** With these the store answers; what is wrong with it, `StoreHealth` tells. */
const ANSWERS: ReadonlySet<StoreTrouble> = new Set(['full', 'replaced', 'readonly', 'corrupt']);

/**
 * Tells an outage of the store once, and its end once, whatever many requests and loops it fails. An outage is that no
 * call is answered for `OUTAGE_MS`; a store that is full, or refuses one record, answers.
 */
export class Outages {
  readonly #clock: Clock;
  readonly #log: Log;
  /** When the first of the calls began that have failed since the last answer. */
  #since: number | undefined;
  #failed = 0;
  #told = false;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  answered(): void {
    if (this.#since === undefined) return;
    if (this.#told)
      this.#log.warn({ seconds: this.#seconds(this.#since), failed: this.#failed }, 'the store answers again');
    this.#since = undefined;
    this.#failed = 0;
    this.#told = false;
  }

  /** @param startedAt when the call began, by the monotonic clock */
  failed(error: StoreUnavailable, startedAt: number): void {
    if (error.reason === 'closed') return;
    if (ANSWERS.has(error.reason)) return this.answered();
    this.#since = Math.min(this.#since ?? startedAt, startedAt);
    this.#failed += 1;
    if (this.#told || this.#clock.monotonic() - this.#since < OUTAGE_MS) return;
    this.#told = true;
    this.#log.error(
      { err: error, reason: error.reason, seconds: this.#seconds(this.#since) },
      'the store does not answer: requests are refused with 502 until it does',
    );
  }

  #seconds(since: number): number {
    return Math.round(this.#clock.monotonic() - since) / 1000;
  }
}
