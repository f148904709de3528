import { TimestampRing } from '../timestamp-ring.ts';
import type { ClockInterval } from './clock-interval.ts';
import { bucketOf } from './record.ts';
import type { WindowRules } from './rules.ts';

/** The units that this replica admitted, as they count now. */
export interface OwnCount {
  /** Units that are younger than a minute. */
  readonly live: number;
  /** Units within the time that the size of the next allotment is predicted from (`recentMs`). */
  readonly recent: number;
  /** Units by the bucket that others know them by; also those that are a minute old and still count for others. */
  readonly byBucket: ReadonlyMap<number, number>;
}

/**
 * The instants of the units that this replica admitted. Other replicas count these by buckets and allow for clocks that
 * differ, 61.25 s from the bucket's beginning; here each counts for 60 s, so that a window of one replica is exact
 * (H13).
 */
export class OwnUsage {
  readonly #rules: WindowRules;
  readonly #ring = new TimestampRing();
  /** How many of the oldest are a minute old. */
  #expired = 0;
  /** How many of the oldest may be missing in the record. */
  #doubted = 0;
  readonly #byBucket = new Map<number, number>();

  constructor(rules: WindowRules) {
    this.#rules = rules;
  }

  admitted(now: ClockInterval): void {
    this.#age(now);
    this.#ring.push(now.latest);
    this.#addTo(bucketOf(now.latest, this.#rules), 1);
  }

  live(now: ClockInterval): number {
    this.#age(now);
    return this.#ring.size - this.#expired;
  }

  /** When the oldest live unit counts no more; infinite when there is none. */
  freesAt(now: ClockInterval): number {
    this.#age(now);
    return this.#expired < this.#ring.size
      ? this.#ring.at(this.#expired) + this.#rules.ownCountsMs
      : Number.POSITIVE_INFINITY;
  }

  /**
   * Called when the record is not the one that the units were reported to: its units count in full, beside the own
   * ones.
   */
  doubt(): void {
    this.#doubted = this.#ring.size;
    this.#byBucket.clear();
  }

  count(now: ClockInterval): OwnCount {
    const live = this.live(now);
    let recent = 0;
    const since = now.earliest - this.#rules.recentMs;
    while (recent < live && this.#ring.at(this.#ring.size - 1 - recent) >= since) recent += 1;
    return { live, recent, byBucket: this.#byBucket };
  }

  #age({ earliest }: ClockInterval): void {
    const { ownCountsMs, bucketCountsMs } = this.#rules;
    const ring = this.#ring;
    while (this.#expired < ring.size && earliest >= ring.at(this.#expired) + ownCountsMs) this.#expired += 1;
    for (; this.#expired > 0; this.#expired -= 1) {
      const bucket = bucketOf(ring.oldest(), this.#rules);
      if (earliest < bucket + bucketCountsMs) return;
      ring.shift();
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
