/** A growing ring of instants, oldest first. Who fills it bounds it, by forgetting. */
export class Instants {
  #ring = new Float64Array(8);
  #first = 0;
  size = 0;

  oldest(): number {
    return this.at(0);
  }

  /** The oldest has index 0. */
  at(index: number): number {
    return this.#ring[(this.#first + index) % this.#ring.length] ?? 0;
  }

  push(at: number): void {
    if (this.size === this.#ring.length) this.#grow();
    this.#ring[(this.#first + this.size) % this.#ring.length] = at;
    this.size += 1;
  }

  /** Forgets the oldest. */
  shift(): void {
    if (this.size === 0) return;
    this.#first = (this.#first + 1) % this.#ring.length;
    this.size -= 1;
  }

  instants(): number[] {
    return Array.from({ length: this.size }, (_, index) => this.at(index));
  }

  #grow(): void {
    const kept = this.instants();
    this.#ring = new Float64Array(Math.ceil(kept.length * 1.5));
    this.#ring.set(kept);
    this.#first = 0;
  }
}
