/** Each bucket is so much longer than the one before: a value that is read back is off by a percent at most. */
const GROWTH = Math.log(1.02);
const SHORTEST_MS = 0.01;
const BUCKETS = 900;

/** A histogram of durations in little memory, however many they are. */
export class Latencies {
  readonly #counts = new Float64Array(BUCKETS);
  #count = 0;

  add(ms: number): void {
    const bucket = Math.ceil(Math.log(Math.max(ms, SHORTEST_MS) / SHORTEST_MS) / GROWTH);
    const at = Math.min(bucket, BUCKETS - 1);
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#count += 1;
  }

  /** The time, in milliseconds, that this share took at most; 0 where nothing was added. */
  at(share: number): number {
    let rest = this.#count * share;
    if (rest === 0) return 0;
    const bucket = this.#counts.findIndex((count) => (rest -= count) <= 0);
    return SHORTEST_MS * Math.exp((bucket - 0.5) * GROWTH);
  }
}
