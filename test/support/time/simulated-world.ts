import { setImmediate as nextTurn } from 'node:timers/promises';

interface Due {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * Time that passes at once: the next thing that is due happens as soon as this process has no more to do. Nothing real
 * may be waited for in it, such as a socket; but for what `real` stands for.
 */
export class SimulatedWorld {
  #now = 1_000_000;
  #order = 0;
  #real = 0;
  #realEnded = Promise.withResolvers<void>();
  readonly #due = new Set<Due>();
  readonly #passed: ((ms: number) => void) | undefined;

  /** @param passed told of the milliseconds that pass, as the clock of a service in this world is */
  constructor(passed?: (ms: number) => void) {
    this.#passed = passed;
  }

  readonly now = (): number => this.#now;

  readonly after = (ms: number, run: () => void): (() => void) => {
    // Whole milliseconds, as records of a service have them.
    const due: Due = { at: Math.ceil(this.#now + Math.max(0, ms)), order: (this.#order += 1), run };
    this.#due.add(due);
    return () => this.#due.delete(due);
  };

  readonly sleep = (ms: number): Promise<void> => new Promise((resolve) => void this.after(ms, resolve));

  /** Time stands still while this work of sockets or files goes on. */
  readonly real = async <T>(work: Promise<T>): Promise<T> => {
    this.#real += 1;
    try {
      return await work;
    } finally {
      this.#real -= 1;
      this.#realEnded.resolve();
      this.#realEnded = Promise.withResolvers();
    }
  };

  /** Lets the time pass until the work is done. @throws what the work throws; Error where it waits for nothing */
  async until<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const done = work.then(
      () => (isDone = true),
      () => (isDone = true),
    );
    for (let idle = 0; idle < 1000;) {
      // Two turns: the body of an answer takes more than one.
      await nextTurn();
      await nextTurn();
      if (isDone) return await work;
      if (this.#real > 0) {
        await Promise.race([done, this.#realEnded.promise]);
        continue;
      }
      const next = this.#next();
      idle = next ? 0 : idle + 1;
      if (!next) continue;
      this.#due.delete(next);
      const passes = Math.max(0, next.at - this.#now);
      this.#now += passes;
      if (passes > 0) this.#passed?.(passes);
      next.run();
    }
    throw new Error('Everything waits, and nothing is due.');
  }

  #next(): Due | undefined {
    let next: Due | undefined;
    for (const due of this.#due) {
      if (!next || due.at < next.at || (due.at === next.at && due.order < next.order)) next = due;
    }
    return next;
  }
}
