/**
 * Values by key, of which those stay that are used. Two maps are swapped once an interval, and what was in the older
 * one is dropped as a whole: room is made at the same cost however many values there are. (The first entry of one map
 * that is kept in the order of use is found only behind all that were deleted before it.)
 */
export class RecentlyUsed<Value> {
  readonly #max: number;
  readonly #everyMs: number;
  #current = new Map<number, Value>();
  #former = new Map<number, Value>();
  #since = 0;

  /**
   * @param max so many values at most; a further one is not kept
   * @param everyMs a value that is not used for so long may be dropped, and is after twice that
   */
  constructor(max: number, everyMs: number) {
    this.#max = max;
    this.#everyMs = everyMs;
  }

  get(key: number, now: number): Value | undefined {
    this.#swapWhenDue(now);
    const value = this.#current.get(key);
    if (value !== undefined || this.#former.size === 0) return value;
    const former = this.#former.get(key);
    if (former !== undefined && this.#former.delete(key)) this.#current.set(key, former);
    return former;
  }

  set(key: number, value: Value, now: number): void {
    if (this.get(key, now) !== undefined || this.#current.size + this.#former.size < this.#max) {
      this.#current.set(key, value);
    }
  }

  delete(key: number): void {
    this.#current.delete(key);
    this.#former.delete(key);
  }

  /** A clock that was put back by more than an interval begins anew; the time of a poll may be a little behind it. */
  #swapWhenDue(now: number): void {
    const past = Math.abs(now - this.#since);
    if (past < this.#everyMs) return;
    this.#former = past < 2 * this.#everyMs ? this.#current : new Map<number, Value>();
    this.#current = new Map();
    this.#since = now;
  }
}
