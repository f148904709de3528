import { performance } from 'node:perf_hooks';
import process from 'node:process';
import type { Clock } from '../time/clock.ts';

/** Told by a start of what it waits for. */
export interface StartProgress {
  /** The store cannot be opened yet. */
  waiting(cause: Error): void;
}

/**
 * A start may wait so long in all until it comes to listen, or ends. A supervisor restarts a process that has ended,
 * and leaves alone one that hangs. It exceeds what the waits of a start take, so that each of them ends with its own
 * words, and leaves time to load the program, and to end, within 40 s.
 */
export const START_MS_MAX = 35_000;
const LOOK_EVERY_MS = 1_000;

/** A start that has neither come to listen nor failed in time. */
export class StartTookTooLong extends Error {
  override readonly name = 'StartTookTooLong';
}

/**
 * The time that this process has waited in its event loop: not while it computes, nor while it has no processor for
 * that.
 */
const waitedByThisProcess = (): number => performance.eventLoopUtilization().idle;

/**
 * One deadline for all that a start does. Only what is waited for counts: a start that is busy itself is not ended for
 * that, however slow its machine is, or a large store would never open; nor is one that was stopped.
 */
export class StartDeadline implements StartProgress {
  readonly #clock: Clock;
  readonly #waitedMs: () => number;
  #cause: Error | undefined;

  /** @param waitedMs how long the process has waited since some instant */
  constructor(clock: Clock, waitedMs = waitedByThisProcess) {
    this.#clock = clock;
    this.#waitedMs = waitedMs;
  }

  waiting(cause: Error): void {
    this.#cause = cause;
  }

  /**
   * @param start is left to itself where the deadline passes
   * @throws StartTookTooLong with the cause that was told last; as `start`
   */
  async held<T>(start: Promise<T>): Promise<T> {
    const over = new AbortController();
    try {
      return await Promise.race([start, this.#passed(over.signal)]);
    } finally {
      over.abort();
    }
  }

  async #passed(over: AbortSignal): Promise<never> {
    let seenMs = this.#waitedMs();
    let countedMs = 0;
    while (!over.aborted) {
      if (countedMs >= START_MS_MAX) throw new StartTookTooLong(tookTooLong(this.#cause));
      await this.#clock.sleep(LOOK_EVERY_MS, over);
      const nowMs = this.#waitedMs();
      // A process that is stopped while it waits seems to wait all that time.
      countedMs += Math.min(nowMs - seenMs, 2 * LOOK_EVERY_MS);
      seenMs = nowMs;
    }
    // The start has decided.
    return await new Promise<never>(() => undefined);
  }
}

const tookTooLong = (cause: Error | undefined): string =>
  `it does not come to listen within ${START_MS_MAX / 1000} s: ${cause?.message ?? 'its log says how far it came'}`;

/** Whatever closes within it closes by itself. */
const LINGERS_MS_MAX = 2000;

/**
 * Ends a process that has done its work, with the exit code that is set, although something holds it: a supervisor
 * restarts only what has ended. A process that nothing holds ends at once, by running out of work. To be called by the
 * program alone: whoever runs the service within another program ends itself.
 */
export function endSoon(): void {
  const end = (): void => {
    // A reader that is slow gets all of it.
    if (process.stdout.writableLength + process.stderr.writableLength > 0) endSoon();
    else process.exit();
  };
  setTimeout(end, LINGERS_MS_MAX).unref();
}
