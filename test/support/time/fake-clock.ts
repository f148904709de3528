import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../../src/time/clock.ts';

/** A clock that a test moves. */
export class FakeClock implements Clock {
  #now: number;
  #monotonic = 1_000_000;
  readonly #sleepers = new Set<{ readonly until: number; readonly wake: () => void }>();

  constructor(now = Date.UTC(2026, 5, 1, 12)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** The short pauses after a conflict, bounded by 100 ms, pass at once: no test waits for them to be over. */
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return;
    if (ms < 100) return setImmediate();
    const { promise, resolve } = Promise.withResolvers<void>();
    const sleeper = { until: this.#monotonic + ms, wake: resolve };
    this.#sleepers.add(sleeper);
    signal?.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    this.#sleepers.delete(sleeper);
  }

  /** Moves both clocks on, and resolves the sleeps that are over. */
  advance(ms: number): void {
    this.#now += ms;
    this.pass(ms);
  }

  /** Moves the monotonic clock alone, and resolves the sleeps that are over: no instant of the test moves. */
  pass(ms: number): void {
    this.#monotonic += ms;
    for (const sleeper of this.#sleepers) if (sleeper.until <= this.#monotonic) sleeper.wake();
  }

  /** Moves the wall clock alone, as a correction of the machine's clock does. */
  jump(ms: number): void {
    this.#now += ms;
  }

  get sleeping(): number {
    return this.#sleepers.size;
  }
}
