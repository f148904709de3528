const BUCKETS = 12;
const BUCKET_MS = 5000;

/**
 * Counts events of the last 60 s, in pieces of 5 s: an event counts for 55 to 60 s. Instants are those of
 * `Clock.monotonic`.
 */
export class SlidingCount {
  readonly #counts = new Uint32Array(BUCKETS);
  /** The number of the newest piece, counted from the clock's beginning. */
  #newest = 0;

  add(now: number): void {
    this.#advance(now);
    const at = this.#newest % BUCKETS;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
  }

  at(now: number): number {
    this.#advance(now);
    let sum = 0;
    for (const count of this.#counts) sum += count;
    return sum;
  }

  #advance(now: number): void {
    const newest = Math.floor(now / BUCKET_MS);
    const passed = Math.min(BUCKETS, newest - this.#newest);
    for (let n = 1; n <= passed; n += 1) this.#counts[(newest - passed + n) % BUCKETS] = 0;
    this.#newest = Math.max(this.#newest, newest);
  }
}
