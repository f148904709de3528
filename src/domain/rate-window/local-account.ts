import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { Clock } from '../../time/clock.ts';
import { LIMITS } from '../limits.ts';
import { Busy } from '../refusal.ts';
import type { RateDecision, RateLeft } from './rate-decision.ts';
import { RECENT_MS, sliceUnits } from './slice-size.ts';
import { TimestampRing } from './timestamp-ring.ts';

/** The window of an account as it outlives the process. Instants are those of `Clock.monotonic`. */
export interface KeptWindow {
  /** When the units that count were spent, oldest first. */
  readonly spent: readonly number[];
  /** The slice: so many further units may be spent until then. */
  readonly units: number;
  readonly until: number;
}

interface LocalAccountDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Resolves when the window is on disk. @throws StoreUnavailable */
  keep(window: KeptWindow): Promise<void>;
}

/** A slice ends after this time, so that an account of a few requests a minute costs one write a minute. */
const SLICE_MS = 60_000;
/** Requests of an account that wait for a slice; further ones are rejected with 502. */
export const SLICE_WAITING_MAX = 2000;

type Waiting = Pick<PromiseWithResolvers<RateDecision>, 'resolve' | 'reject'>;

/** H13 for one account in one process. A unit is on disk, as part of a slice, before it is spent. */
export class LocalAccount {
  readonly #deps: LocalAccountDeps;
  /** The units that were spent in the last minute. */
  readonly #spent = new TimestampRing();
  /** When slices were taken in the last minute. */
  readonly #slices = new TimestampRing();
  /** The units left of the slice, which may be spent before this instant. */
  #left = 0;
  #until = 0;
  #waiting: Waiting[] = [];
  /** A write of this window is under way. The next one begins when it has ended. */
  #isWriting = false;

  constructor(deps: LocalAccountDeps) {
    this.#deps = deps;
  }

  /** @throws StoreUnavailable when no slice can be written; Busy when that takes a minute, or too many wait for it */
  charge(): MaybePromise<RateDecision> {
    return this.#decide() ?? this.#wait();
  }

  /** The window now, without a charge. */
  left(): RateLeft {
    const now = this.#deps.clock.monotonic();
    this.countAt(now);
    return this.#leftAt(now);
  }

  /** How many units count now. */
  countAt(now: number): number {
    return countAt(this.#spent, now);
  }

  /** Nothing of this window counts any more, on disk either, and nobody waits for it. */
  isOver(now: number): boolean {
    return !this.#isWriting && this.countAt(now) === 0 && now >= this.#until + LIMITS.rateWindowMs;
  }

  /** Adds units that were spent before, oldest first. */
  restore(spent: readonly number[]): void {
    for (const at of spent) this.#spent.push(at);
  }

  /** Gives up the slice. @returns the window, where anything of it counts */
  settled(now: number): KeptWindow | undefined {
    this.#left = 0;
    this.#until = 0;
    return this.countAt(now) > 0 ? { spent: this.#spent.toArray(), units: 0, until: 0 } : undefined;
  }

  /** Takes no slice while this work on the kept window goes on. Never rejects. */
  async during(work: Promise<void>): Promise<void> {
    this.#isWriting = true;
    await work.catch(() => undefined);
    await this.#takeSlices();
  }

  /** @returns undefined where a slice is needed first */
  #decide(): RateDecision | undefined {
    const now = this.#deps.clock.monotonic();
    const admitted = this.countAt(now) < LIMITS.requestsPerWindowMax;
    if (admitted) {
      if (this.#left === 0 || now >= this.#until) return undefined;
      this.#left -= 1;
      this.#spent.push(now);
    }
    return { admitted, ...this.#leftAt(now) };
  }

  /** The window without the instants that left it, which must have been removed. */
  #leftAt(now: number): RateLeft {
    const freesInMs = this.#spent.size === 0 ? 0 : LIMITS.rateWindowMs - (now - this.#spent.oldest());
    return {
      left: LIMITS.requestsPerWindowMax - this.#spent.size,
      freesInSeconds: Math.max(1, Math.ceil(freesInMs / 1000)),
    };
  }

  #wait(): Promise<RateDecision> {
    if (this.#waiting.length >= SLICE_WAITING_MAX) {
      throw new Busy('queue_full', 'Too many requests of one account wait for its rate window.');
    }
    const { promise, resolve, reject } = Promise.withResolvers<RateDecision>();
    this.#waiting.push({ resolve, reject });
    if (!this.#isWriting) void this.#takeSlices();
    return promise;
  }

  async #takeSlices(): Promise<void> {
    this.#isWriting = true;
    try {
      while (this.#waiting.length > 0) {
        await this.#takeSlice();
        this.#decideWaiting();
      }
    } catch (error) {
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    } finally {
      this.#isWriting = false;
    }
  }

  async #takeSlice(): Promise<void> {
    const now = this.#deps.clock.monotonic();
    const taken = countAt(this.#slices, now);
    const units = sliceUnits({ taken, recent: this.#spentSince(now - RECENT_MS), waiting: this.#waiting.length });
    const until = now + SLICE_MS;
    this.countAt(now);
    await this.#deps.keep({ spent: this.#spent.toArray(), units, until });
    // It would be over before it is used, and so would be the next one on such a disk.
    if (this.#deps.clock.monotonic() >= until) throw new Busy('late', 'The rate window was not written in time.');
    this.#slices.push(now);
    this.#left = units;
    this.#until = until;
  }

  #decideWaiting(): void {
    for (const [index, { resolve }] of this.#waiting.entries()) {
      const decision = this.#decide();
      if (!decision) return void this.#waiting.splice(0, index);
      resolve(decision);
    }
    this.#waiting = [];
  }

  #spentSince(since: number): number {
    let count = 0;
    while (count < this.#spent.size && this.#spent.at(this.#spent.size - 1 - count) >= since) count += 1;
    return count;
  }
}

/** Removes the instants that left the window, and counts the rest. */
function countAt(ring: TimestampRing, now: number): number {
  while (ring.size > 0 && now - ring.oldest() >= LIMITS.rateWindowMs) ring.shift();
  return ring.size;
}
