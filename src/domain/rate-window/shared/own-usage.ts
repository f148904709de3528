import { Instants } from '../timestamp-ring.ts';
import type { Span } from './clock-interval.ts';
import { bucketOf } from './record.ts';
import type { WindowRules } from './rules.ts';

/** What this replica admitted itself, as it counts now. */
export interface OwnCount {
  /** Younger than a minute. */
  readonly live: number;
  /** Within the time by which the next slice is measured. */
  readonly lately: number;
  /** By the bucket that tells the others of them, those too that are a minute old and still count there. */
  readonly byBucket: ReadonlyMap<number, number>;
}

/**
 * The instants of the units that this replica admitted. The others count these by buckets and for clocks that differ,
 * 61.25 s from the bucket's begin; here each counts for 60 s, so that a window which nobody shares is exact (H13).
 */
export class OwnUnits {
  readonly #rules: WindowRules;
  readonly #instants = new Instants();
  /** So many of the oldest are a minute old. */
  #over = 0;
  /** So many of the oldest are perhaps not in the record. */
  #doubted = 0;
  readonly #byBucket = new Map<number, number>();

  constructor(rules: WindowRules) {
    this.#rules = rules;
  }

  admitted(now: Span): void {
    this.#age(now);
    this.#instants.push(now.latest);
    this.#addTo(bucketOf(now.latest, this.#rules), 1);
  }

  live(now: Span): number {
    this.#age(now);
    return this.#instants.size - this.#over;
  }

  /** When the oldest of them counts no more; infinite when there is none. */
  freesAt(now: Span): number {
    this.#age(now);
    return this.#over < this.#instants.size
      ? this.#instants.at(this.#over) + this.#rules.ownCountsMs
      : Number.POSITIVE_INFINITY;
  }

  /** The record is not the one that they were told to: what it says counts in full, beside them. */
  doubt(): void {
    this.#doubted = this.#instants.size;
    this.#byBucket.clear();
  }

  count(now: Span): OwnCount {
    const live = this.live(now);
    let lately = 0;
    const since = now.earliest - this.#rules.latelyMs;
    while (lately < live && this.#instants.at(this.#instants.size - 1 - lately) >= since) lately += 1;
    return { live, lately, byBucket: this.#byBucket };
  }

  #age({ earliest }: Span): void {
    const { ownCountsMs, bucketCountsMs } = this.#rules;
    const instants = this.#instants;
    while (this.#over < instants.size && earliest >= instants.at(this.#over) + ownCountsMs) this.#over += 1;
    for (; this.#over > 0; this.#over -= 1) {
      const bucket = bucketOf(instants.oldest(), this.#rules);
      if (earliest < bucket + bucketCountsMs) return;
      instants.shift();
      if (this.#doubted > 0) this.#doubted -= 1;
      else this.#addTo(bucket, -1);
    }
  }

  #addTo(bucket: number, units: number): void {
    const sum = (this.#byBucket.get(bucket) ?? 0) + units;
    if (sum > 0) this.#byBucket.set(bucket, sum);
    else this.#byBucket.delete(bucket);
  }
}
