/** Numbers in [0, 1) that follow from the seed (mulberry32). */
export type Random = () => number;

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Event {
  readonly at: number;
  readonly order: number;
  readonly act: () => void;
}

/**
 * Simulated time: events happen in the order of their instants, and at the same instant in the order of their planning.
 */
export class Timeline {
  now = 0;
  /** Whether the last event may have resolved a promise. */
  isAsync = true;
  readonly #heap: Event[] = [];
  #planned = 0;

  at(at: number, act: () => void): void {
    const event = { at: Math.max(at, this.now), order: (this.#planned += 1), act };
    let index = this.#heap.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (isBefore(this.#heap[parent], event)) break;
      this.#swap(index, parent);
      index = parent;
    }
  }

  after(ms: number, act: () => void): void {
    this.at(this.now + Math.max(0, ms), act);
  }

  /** Runs the next event. @returns false when there is none */
  next(): boolean {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (!first || !last) return false;
    if (first !== last) {
      this.#heap[0] = last;
      this.#sink();
    }
    this.now = first.at;
    this.isAsync = true;
    first.act();
    return true;
  }

  #sink(): void {
    for (let index = 0; ;) {
      let least = index;
      for (const child of [2 * index + 1, 2 * index + 2]) {
        if (child < this.#heap.length && isBefore(this.#heap[child], this.#heap[least])) least = child;
      }
      if (least === index) return;
      this.#swap(index, least);
      index = least;
    }
  }

  #swap(one: number, other: number): void {
    const [first, second] = [this.#heap[one], this.#heap[other]];
    if (first && second) [this.#heap[one], this.#heap[other]] = [second, first];
  }
}

const isBefore = (one: Event | undefined, other: Event | undefined): boolean =>
  one !== undefined && other !== undefined && (one.at < other.at || (one.at === other.at && one.order < other.order));
