/**
 * Bounds how much work is under way at once. Work above the bound waits for its turn, in the order in which it came.
 *
 * The queue is two stacks, so that each piece of work is moved once: `shift` moves all others where they are many, and
 * 200,000 pieces took 15 s. The library `p-limit` is as fast, but begins work in a later microtask even where a slot is
 * free, and would bring two packages for these 20 lines.
 */
export class Slots {
  /** The work that came since `#turns` was filled, oldest first. */
  #coming: (() => void)[] = [];
  /** The work whose turn comes first, oldest last. */
  #turns: (() => void)[] = [];
  #free: number;

  /** @param max the work that may be under way at once */
  constructor(max: number) {
    this.#free = max;
  }

  /** @returns the outcome of the work, which begins when a slot is free */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#coming.push(resolve));
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #leave(): void {
    if (this.#turns.length === 0) [this.#turns, this.#coming] = [this.#coming.toReversed(), []];
    const next = this.#turns.pop();
    if (next) next();
    else this.#free += 1;
  }
}
