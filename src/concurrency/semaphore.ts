/** At most so many at once; who finds no room is refused, not queued. */
export class Semaphore {
  readonly #max: number;
  #inside = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @returns undefined where there is no room: then nothing was begun */
  pass<T>(work: () => Promise<T>): Promise<T> | undefined {
    if (this.#inside >= this.#max) return undefined;
    this.#inside += 1;
    return work().finally(() => {
      this.#inside -= 1;
    });
  }
}
