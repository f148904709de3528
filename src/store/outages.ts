import type { Log } from '../log.ts';
import type { Clock } from '../time/clock.ts';
import type { StoreTrouble, StoreUnavailable } from './port.ts';

/** H15: an outage is known by then. What is shorter (a leader change of etcd) needs nobody to act. */
export const OUTAGE_MS = 2_000;

/**
 * Writes that have not failed for so long are no trouble any more where reads are answered: nobody may write for hours.
 */
const WRITE_FORGOTTEN_MS = 10_000;

/** With these the store answers; what is wrong with it, `StoreHealth` tells. */
const ANSWERS: ReadonlySet<StoreTrouble> = new Set(['full', 'replaced', 'readonly', 'corrupt', 'divided']);

/** The kind of a call: a store whose disk hangs or fails may answer reads from memory, and take no writes. */
export type CallKind = 'read' | 'write';

/** The calls of a kind that have failed since one was answered. */
interface Silence {
  /** When the first of them began. */
  readonly since: number;
  /** When the last of them failed. */
  readonly last: number;
}

/**
 * Tells an outage of the store once, and its end once, whatever many requests and loops it fails. An outage is that no
 * call, or no write, is answered for `OUTAGE_MS`; a store that is full, or refuses one record, answers.
 */
export class Outages {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #silent: Record<CallKind, Silence | undefined> = { read: undefined, write: undefined };
  /** When the first of the calls began that are counted. */
  #since: number | undefined;
  #failed = 0;
  #told = false;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  answered(kind: CallKind): void {
    if (this.#since === undefined) return;
    const { write } = this.#silent;
    this.#silent.read = undefined;
    if (write && kind === 'read' && this.#clock.monotonic() - write.last < WRITE_FORGOTTEN_MS) return;
    this.#silent.write = undefined;
    if (this.#told)
      this.#log.warn({ seconds: this.#seconds(this.#since), failed: this.#failed }, 'the store answers again');
    this.#since = undefined;
    this.#failed = 0;
    this.#told = false;
  }

  /** @param startedAt when the call began, by the monotonic clock */
  failed(error: StoreUnavailable, startedAt: number, kind: CallKind): void {
    if (error.reason === 'closed') return;
    if (ANSWERS.has(error.reason)) return this.answered('write');
    // Only what the user may not do is refused: any other answer shows that the store is there.
    const of = error.reason === 'refused' ? 'read' : kind;
    const now = this.#clock.monotonic();
    const silence = { since: Math.min(this.#silent[of]?.since ?? startedAt, startedAt), last: now };
    this.#silent[of] = silence;
    this.#since = Math.min(this.#since ?? startedAt, startedAt);
    this.#failed += 1;
    if (this.#told || now - silence.since < OUTAGE_MS) return;
    this.#told = true;
    this.#log.error(
      { err: error, reason: error.reason, seconds: this.#seconds(this.#since) },
      this.#silent.read
        ? 'the store does not answer: requests are refused with 502 until it does'
        : 'the store takes no writes: requests that need one are refused with 502 until it does',
    );
  }

  #seconds(since: number): number {
    return Math.round(this.#clock.monotonic() - since) / 1000;
  }
}
