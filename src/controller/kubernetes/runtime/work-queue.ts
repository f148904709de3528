import { RecentMap } from '../../../packed/recent-map.ts';
import type { Clock } from '../../../time/clock.ts';
import { backOffMs } from '../client/back-off.ts';
import { isKubeError } from '../client/kube-api.ts';
import { RETRY_MS_MAX } from '../failures/failure.ts';

interface WorkQueueDeps {
  readonly clock: Clock;
  /** 0 to 1. */
  readonly random: () => number;
  readonly concurrency: number;
}

/**
 * Works on one key. An error brings the key back after a pause that doubles with each failure in a row.
 * @returns the milliseconds after which the key comes back in any case; undefined: it comes back when it is added
 */
export type Work = (key: string, signal: AbortSignal) => Promise<number | undefined>;

const BACK_OFF = { firstMs: 1000, maxMs: RETRY_MS_MAX };
/** Changes of one resource make it ready so often at once, and then once in a second: each turn reads the store. */
const PACE = { atOnce: 10, everyMs: 1000 };
/** The keys that were forgotten whose pace is known still. */
const KEYS_BEFORE_MAX = 1000;
/** After a conflict the newer object is on its way, so the pauses are shorter. */
const CONFLICT_BACK_OFF = { firstMs: 200, maxMs: 5000 };

/**
 * A queue of keys. A key is in it once however often it is added, and is never worked on twice at a time: a key that is
 * added while it is worked on is worked on again.
 */
export class WorkQueue {
  readonly #deps: WorkQueueDeps;
  readonly #ready = new Set<string>();
  readonly #active = new Set<string>();
  /** When a key is due, on the monotonic clock. */
  readonly #due = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  /** The time at which a key has taken all the turns that changes made ready, one a pause, on the monotonic clock. */
  readonly #pacedTo = new Map<string, number>();
  /** The same of keys that were forgotten: one that comes back under its name goes on at its pace. */
  readonly #pacedBefore = new RecentMap<string, number>(KEYS_BEFORE_MAX);
  #wake = new AbortController();

  constructor(deps: WorkQueueDeps) {
    this.#deps = deps;
  }

  /** The number of keys that are ready or being worked on. */
  get size(): number {
    return this.#ready.size + this.#active.size;
  }

  /** Whether no key is ready or being worked on, and no failure waits for another attempt. */
  get idle(): boolean {
    return this.size === 0 && this.#failures.size === 0;
  }

  /** Makes the key ready at once, or a little later where changes have made it ready very often. */
  add(key: string): void {
    if (this.#ready.has(key)) return;
    const now = this.#deps.clock.monotonic();
    const waitMs = this.#paced(key, now) - now - (PACE.atOnce - 1) * PACE.everyMs;
    if (waitMs > 0) return this.addAfter(key, waitMs);
    this.#pay(key, now);
    this.#ready.add(key);
    this.#due.delete(key);
    this.#wake.abort();
  }

  #paced(key: string, now: number): number {
    return Math.max(this.#pacedTo.get(key) ?? this.#pacedBefore.get(key) ?? now, now);
  }

  /** Counts a turn. One that the key takes by itself counts as well: a change that waits has become such a turn. */
  #pay(key: string, now: number): void {
    this.#pacedTo.set(key, Math.min(this.#paced(key, now) + PACE.everyMs, now + PACE.atOnce * PACE.everyMs));
  }

  /** Makes the key ready after so many milliseconds, or sooner where it is due sooner already. */
  addAfter(key: string, ms: number): void {
    if (this.#ready.has(key)) return;
    const due = this.#deps.clock.monotonic() + ms;
    this.#due.set(key, Math.min(due, this.#due.get(key) ?? Infinity));
    this.#wake.abort();
  }

  /** Forgets when the key is due and how often it failed, for a key whose object is gone; not how often it changed. */
  forget(key: string): void {
    this.#due.delete(key);
    this.#failures.delete(key);
    const paced = this.#pacedTo.get(key);
    this.#pacedTo.delete(key);
    if (paced !== undefined) this.#pacedBefore.set(key, paced);
  }

  /** Works until the signal aborts; work that is under way then gets the same signal. Never rejects. */
  async run(work: Work, signal: AbortSignal): Promise<void> {
    const { clock, concurrency } = this.#deps;
    const running = new Set<Promise<void>>();
    while (!signal.aborted) {
      this.#wake = new AbortController();
      const nextDue = this.#ripen();
      for (const key of this.#ready) {
        if (running.size >= concurrency) break;
        if (this.#active.has(key)) continue;
        this.#ready.delete(key);
        const turn: Promise<void> = this.#turn(key, work, signal).finally(() => {
          running.delete(turn);
          this.#wake.abort();
        });
        running.add(turn);
      }
      const waking = AbortSignal.any([signal, this.#wake.signal]);
      if (!waking.aborted) await clock.sleep(Math.max(1, Math.min(nextDue - clock.monotonic(), SLEEP_MS_MAX)), waking);
    }
    await Promise.all(running);
  }

  /** Makes ready the keys that are due. @returns when the next one is due, on the monotonic clock */
  #ripen(): number {
    const now = this.#deps.clock.monotonic();
    let next = Infinity;
    for (const [key, due] of this.#due) {
      if (due > now) next = Math.min(next, due);
      else {
        this.#due.delete(key);
        this.#ready.add(key);
        this.#pay(key, now);
      }
    }
    return next;
  }

  async #turn(key: string, work: Work, signal: AbortSignal): Promise<void> {
    this.#active.add(key);
    try {
      const requeueAfterMs = await work(key, signal);
      this.#failures.delete(key);
      if (requeueAfterMs !== undefined) this.addAfter(key, requeueAfterMs);
    } catch (error) {
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      const bounds = isKubeError(error, 'conflict') ? CONFLICT_BACK_OFF : BACK_OFF;
      if (!signal.aborted) this.addAfter(key, backOffMs(failures, bounds, this.#deps.random, error));
    } finally {
      this.#active.delete(key);
    }
  }
}

const SLEEP_MS_MAX = 3_600_000;
