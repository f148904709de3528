/** Bounds how much work is under way at once. Work above the bound waits for its turn, in the order in which it came. */
export class Slots {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  /** @param max the work that may be under way at once */
  constructor(max: number) {
    this.#free = max;
  }

  /** @returns the outcome of the work, which begins when a slot is free */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}
