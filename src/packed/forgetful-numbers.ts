import { PackedNumbers } from './number-map.ts';

/** How many more keys than expected there may be. */
const SPARE = 10_000;

/**
 * A map from texts to numbers for what may be forgotten: once it has twice as many keys as are expected, because things
 * came and went, it begins anew. Two of a million texts share a place with a probability of 1 in 20,000.
 */
export class ForgetfulNumbers {
  readonly #expected: () => number;
  #numbers = new PackedNumbers();

  /** @param expected how many keys there are at most that matter, now */
  constructor(expected: () => number) {
    this.#expected = expected;
  }

  /** @param key a fingerprint (`fingerprintOf`) */
  get(key: number): number | undefined {
    return this.#numbers.get(key);
  }

  set(key: number, value: number): void {
    if (this.#numbers.size > 2 * this.#expected() + SPARE) this.#numbers = new PackedNumbers();
    this.#numbers.set(key, value);
  }

  get bytes(): number {
    return this.#numbers.bytes;
  }
}
