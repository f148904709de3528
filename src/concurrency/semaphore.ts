/** Bounds how much work is under way at once. Work above the bound is refused, not queued. */
export class Semaphore {
  readonly #max: number;
  #running = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @returns the outcome of the work; undefined where the bound is reached, and then nothing was begun */
  tryRun<T>(work: () => Promise<T>): Promise<T> | undefined {
    if (this.#running >= this.#max) return undefined;
    this.#running += 1;
    return work().finally(() => {
      this.#running -= 1;
    });
  }
}
