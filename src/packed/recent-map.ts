/**
 * A map of so many entries at most, the one that was set last at the end: for a further one, the one that was set
 * longest ago makes room. It is for what a replica may forget.
 */
export class RecentMap<K, V> extends Map<K, V> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: K, value: V): this {
    if (!this.delete(key) && this.size >= this.#max) {
      const [oldest] = this.keys();
      if (oldest !== undefined) this.delete(oldest);
    }
    return super.set(key, value);
  }
}
