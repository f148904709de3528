import { TABLE_ROWS_MAX } from '../../records/rate-records.ts';
import { LEASE_AHEAD_MS_MAX, WINDOW_RULES } from './rules.ts';

/** A revision of the store, and how long ago, in whole milliseconds, it was there already. */
type KnownAge = readonly [revision: number, ageMs: number];

interface Sample {
  readonly from: number;
  revision: number;
  at: number;
}

/** Revisions that are seen within this time are remembered as one. */
const SAMPLE_MS = 50;
/**
 * Revisions that were reached earlier than this seem to be this old, whenever they are asked for. By then nothing of
 * them counts any more: not even a lease, which ends after its revision.
 */
const REMEMBERED_MS = LEASE_AHEAD_MS_MAX + WINDOW_RULES.endedCountsMs + 5000;
const TABLE_STEP_MS = 500;

/**
 * The revisions of the store as a clock that all replicas share: when this replica first knew that a revision had been
 * reached, on its own monotonic clock. That is never before the revision was there, and later only by as much as the
 * replica heard of it late. So an instant that is given as an age at a revision never seems older than it is.
 */
export class RevisionClock {
  readonly #now: () => number;
  /** Ascending in revision and in instant: no revision up to `revision` is known from before `at`. */
  #samples: Sample[] = [];
  #latest = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The newest revision that was seen. */
  get latest(): number {
    return this.#latest;
  }

  /** The store was seen to have reached the revision. */
  saw(revision: number): void {
    if (revision <= this.#latest) return;
    const at = this.#now();
    this.#latest = revision;
    const last = this.#samples.at(-1);
    // The later instant holds for the whole sample.
    if (last && at - last.from < SAMPLE_MS) [last.revision, last.at] = [revision, at];
    else {
      this.#samples.push({ from: at, revision, at });
      while ((this.#samples[1]?.at ?? at) <= at - REMEMBERED_MS) this.#samples.shift();
    }
  }

  /**
   * A read that began when `before` was the newest revision found the store at this one. An older one means that the
   * store was put back to an earlier state, and gives out its revisions again.
   * @returns whether it was
   */
  found(revision: number, before: number): boolean {
    const wasPutBack = revision < before;
    if (wasPutBack) this.#forget();
    this.saw(revision);
    return wasPutBack;
  }

  /** When this replica knew of a revision that was seen: as early as it can tell. */
  instantOf(revision: number): number {
    let [low, high] = [0, this.#samples.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#samples[middle]?.revision ?? 0) < revision) low = middle + 1;
      else high = middle;
    }
    return this.#samples[low]?.at ?? this.#now();
  }

  /** This replica can tell others this of the last minute. Each statement stays true. */
  table(): readonly KnownAge[] {
    const now = this.#now();
    let next = Number.NEGATIVE_INFINITY;
    const rows = this.#samples.filter(({ at }, index) => {
      const isTold = at >= next || index === this.#samples.length - 1;
      if (isTold) next = at + TABLE_STEP_MS;
      return isTold;
    });
    return rows.map(({ revision, at }) => [revision, Math.floor(now - at)]);
  }

  /** Takes over the table that another replica wrote with the commit of a revision that was seen. */
  learn(table: readonly KnownAge[], revision: number): void {
    const written = this.instantOf(revision);
    for (const [known, ageMs] of table.slice(-TABLE_ROWS_MAX)) {
      if (known <= revision) this.#add(known, written - ageMs);
    }
  }

  #add(revision: number, at: number): void {
    if (this.instantOf(revision) <= at) return;
    const kept = this.#samples.filter((one) => one.revision > revision || one.at < at);
    const index = kept.findIndex((one) => one.revision > revision);
    // The last sample stays the last one, since it may still be extended.
    kept.splice(index < 0 ? kept.length : index, 0, { from: Number.NEGATIVE_INFINITY, revision, at });
    this.#samples = kept;
  }

  #forget(): void {
    this.#samples = [];
    this.#latest = 0;
  }
}
