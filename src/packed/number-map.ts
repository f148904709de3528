import { hashOfNumber } from './hash.ts';

/** A map from numbers to numbers that is only read: a `Map` is one, too. */
export interface Numbers extends Iterable<readonly [key: number, value: number]> {
  get(key: number): number | undefined;
  readonly size: number;
}

interface PackedNumbersOptions {
  /** The number of keys that will come: with the right one nothing is allocated twice, and a fifth is left free. */
  readonly expected?: number;
  /** Values that need not be kept any more. They are dropped when there would be no room otherwise. */
  readonly isStale?: (value: number) => boolean;
}

/**
 * A map from integers (0 to 2^53 - 1) to numbers, in one typed array: 16 bytes a slot, at most four fifths full. A
 * `Map` of a million instants is a million numbers on the heap, each of which a full collection must visit. Only stale
 * values are ever removed.
 */
export class PackedNumbers implements Numbers {
  readonly #isStale: ((value: number) => boolean) | undefined;
  /** Pairs of a key + 1, which is 0 where the slot is free, and a value. */
  #pairs: Float64Array;
  #size = 0;

  constructor({ expected = 0, isStale }: PackedNumbersOptions = {}) {
    this.#isStale = isStale;
    this.#pairs = new Float64Array(2 * Math.max(SLOTS_MIN, Math.ceil(expected / FILLED_MAX) + 1));
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#pairs.byteLength;
  }

  get(key: number): number | undefined {
    const at = this.#find(key);
    return this.#pairs[at] === 0 ? undefined : this.#pairs[at + 1];
  }

  set(key: number, value: number): void {
    let at = this.#find(key);
    if (this.#pairs[at] === 0) {
      if (this.#size + 1 > (this.#pairs.length / 2) * FILLED_MAX) {
        this.#makeRoom();
        at = this.#find(key);
      }
      this.#pairs[at] = key + 1;
      this.#size += 1;
    }
    this.#pairs[at + 1] = value;
  }

  *[Symbol.iterator](): Iterator<readonly [key: number, value: number]> {
    const pairs = this.#pairs;
    for (let at = 0; at < pairs.length; at += 2) {
      const keyAndOne = pairs[at] ?? 0;
      if (keyAndOne !== 0) yield [keyAndOne - 1, pairs[at + 1] ?? 0];
    }
  }

  /** The slot of the key, or the free slot where it belongs. */
  #find(key: number): number {
    const pairs = this.#pairs;
    let at = 2 * Math.floor((hashOfNumber(key) / 2 ** 32) * (pairs.length / 2));
    while (pairs[at] !== 0 && pairs[at] !== key + 1) at = at + 2 === pairs.length ? 0 : at + 2;
    return at;
  }

  /** Drops the stale values, and then makes room for half as many again. */
  #makeRoom(): void {
    const old = this.#pairs;
    const isStale = this.#isStale;
    const stays = (at: number): boolean => old[at] !== 0 && isStale?.(old[at + 1] ?? 0) !== true;
    let staying = 0;
    for (let at = 0; at < old.length; at += 2) if (stays(at)) staying += 1;
    this.#pairs = new Float64Array(2 * Math.max(SLOTS_MIN, Math.ceil(((staying + 1) * GROWTH) / FILLED_MAX)));
    this.#size = staying;
    for (let at = 0; at < old.length; at += 2) {
      if (!stays(at)) continue;
      const to = this.#find((old[at] ?? 0) - 1);
      this.#pairs[to] = old[at] ?? 0;
      this.#pairs[to + 1] = old[at + 1] ?? 0;
    }
  }
}

const SLOTS_MIN = 4;
const FILLED_MAX = 0.8;
const GROWTH = 1.5;
