import { systemClock } from '../time/clock.ts';

/**
 * Work whose outcome is for everybody who asked before it began: there is one run at a time, and those who ask during a
 * run share the next one. Nobody is given an outcome that is older than his question.
 */
export class SharedRuns<T> {
  readonly #work: () => Promise<T>;
  readonly #pause: (ranMs: number) => Promise<unknown>;
  #next: PromiseWithResolvers<T> | undefined;
  #isBusy = false;

  /** @param pause lasts between a run, which took so many milliseconds, and the next one */
  constructor(work: () => Promise<T>, pause: (ranMs: number) => Promise<unknown>) {
    this.#work = work;
    this.#pause = pause;
  }

  /** @throws whatever the run throws, for all who share it */
  run(): Promise<T> {
    const { promise } = (this.#next ??= Promise.withResolvers<T>());
    if (!this.#isBusy) void this.#runWhileAsked();
    return promise;
  }

  async #runWhileAsked(): Promise<void> {
    this.#isBusy = true;
    for (let asked = this.#next; asked !== undefined; asked = this.#next) {
      this.#next = undefined;
      const startedAt = systemClock.monotonic();
      try {
        asked.resolve(await this.#work());
      } catch (error) {
        asked.reject(error);
      }
      await this.#pause(systemClock.monotonic() - startedAt);
    }
    this.#isBusy = false;
  }
}
