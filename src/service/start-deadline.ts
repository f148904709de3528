import process from 'node:process';
import type { Clock } from '../time/clock.ts';

/** Told by a start of what it waits for. */
export interface StartProgress {
  /** The store cannot be opened yet. */
  waiting(cause: Error): void;
  /** The records of the store are migrated, which has bounds of its own: from now on there is no deadline. */
  migrating(): void;
}

/**
 * The time in which a start comes to listen, or ends. A supervisor restarts a process that has ended, and leaves alone
 * one that hangs. It exceeds what the waits of a start may take together, so that each of them ends with its own words,
 * and leaves time to end within 40 s.
 */
export const START_MS_MAX = 36_000;
/** What loading the program counts for at most, so that a machine that is busy keeps some time for the rest. */
const LOADING_MS_MAX = 20_000;
const LOOK_EVERY_MS = 1_000;

/** A start that has neither come to listen nor failed in time. */
export class StartTookTooLong extends Error {
  override readonly name = 'StartTookTooLong';
}

/**
 * One deadline for all that a start does, on the monotonic clock. Only what is waited for counts: a process that is
 * busy itself, or is stopped, for longer than two looks is not ended for that, or a large store would never open.
 */
export class StartDeadline implements StartProgress {
  readonly #clock: Clock;
  readonly #beganAt: number;
  #cause: Error | undefined;
  #lifted = false;

  /** @param beganAt an instant of the clock; 0 is the beginning of this process on that of the machine */
  constructor(clock: Clock, beganAt = 0) {
    this.#clock = clock;
    this.#beganAt = beganAt;
  }

  waiting(cause: Error): void {
    this.#cause = cause;
  }

  migrating(): void {
    this.#lifted = true;
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
    const clock = this.#clock;
    let waitedMs = Math.min(clock.monotonic() - this.#beganAt, LOADING_MS_MAX);
    while (!over.aborted) {
      if (waitedMs >= START_MS_MAX && !this.#lifted) throw new StartTookTooLong(tookTooLong(this.#cause));
      const before = clock.monotonic();
      await clock.sleep(LOOK_EVERY_MS, over);
      waitedMs += Math.min(clock.monotonic() - before, 2 * LOOK_EVERY_MS);
    }
    // The start has decided.
    return await new Promise<never>(() => undefined);
  }
}

const tookTooLong = (cause: Error | undefined): string =>
  `it does not come to listen within ${START_MS_MAX / 1000} s: ${cause?.message ?? 'its log says how far it came'}`;

/** What closes within it, closes by itself. */
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
