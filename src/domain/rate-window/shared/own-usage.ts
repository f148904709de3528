import { TimestampRing } from '../timestamp-ring.ts';
import type { WindowRules } from './rules.ts';

/** The units that this replica admitted, as they count now. */
export interface OwnCount {
  /** Units that are younger than a minute. */
  readonly live: number;
  /** Units within the time that the size of the next allotment is predicted from (`recentMs`). */
  readonly recent: number;
}

/**
 * The instants of the units that this replica admitted. Other replicas count these by buckets, and from when they heard
 * of them; here each counts for 60 s, so that a window of one replica is exact (H13).
 */
export class OwnUsage {
  readonly #rules: WindowRules;
  readonly #ring = new TimestampRing();
  /** Others share the window: the clocks of several replicas measure it. */
  isShared = false;

  constructor(rules: WindowRules) {
    this.#rules = rules;
  }

  admitted(now: number): void {
    this.#age(now);
    this.#ring.push(now);
  }

  live(now: number): number {
    this.#age(now);
    return this.#ring.size;
  }

  /** When the oldest live unit counts no more; infinite when there is none. */
  freesAt(now: number): number {
    this.#age(now);
    return this.#ring.size > 0 ? this.#ring.oldest() + this.#countsMs : Number.POSITIVE_INFINITY;
  }

  count(now: number): OwnCount {
    const live = this.live(now);
    let recent = 0;
    const since = now - this.#rules.recentMs;
    while (recent < live && this.#ring.at(this.#ring.size - 1 - recent) >= since) recent += 1;
    return { live, recent };
  }

  get #countsMs(): number {
    return this.isShared ? this.#rules.ownCountsMs : this.#rules.countsMs;
  }

  #age(now: number): void {
    const ring = this.#ring;
    while (ring.size > 0 && now >= ring.oldest() + this.#countsMs) ring.shift();
  }
}
