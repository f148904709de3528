/** A growing ring of timestamps, oldest first. It has no bound of its own: its owner removes the oldest ones. */
export class TimestampRing {
  #ring = new Float64Array(8);
  #first = 0;
  size = 0;

  /** Returns the oldest timestamp; 0 when the ring is empty. */
  oldest(): number {
    return this.at(0);
  }

  /** Returns a timestamp by its index; the oldest has index 0. */
  at(index: number): number {
    return this.#ring[(this.#first + index) % this.#ring.length] ?? 0;
  }

  push(at: number): void {
    if (this.size === this.#ring.length) this.#grow();
    this.#ring[(this.#first + this.size) % this.#ring.length] = at;
    this.size += 1;
  }

  /** Removes the oldest. */
  shift(): void {
    if (this.size === 0) return;
    this.#first = (this.#first + 1) % this.#ring.length;
    this.size -= 1;
  }

  toArray(): number[] {
    return Array.from({ length: this.size }, (_, index) => this.at(index));
  }

  #grow(): void {
    const kept = this.toArray();
    this.#ring = new Float64Array(Math.ceil(kept.length * 1.5));
    this.#ring.set(kept);
    this.#first = 0;
  }
}
