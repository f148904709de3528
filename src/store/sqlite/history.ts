import type { Entry, Retained, WatchedChange } from '../port.ts';
import { RetainedRevisions } from '../retained-revisions.ts';

/* The past of the store, in memory: the newest changes, each with the entry that it replaced. */

export interface PastChange extends WatchedChange {
  /** The entry before the change, if there was one. */
  readonly previous: Entry | undefined;
}

/** The memory that a change takes beside its texts, roughly. */
const OVERHEAD_BYTES = 200;

const bytesOf = ({ key, value, previous }: PastChange): number =>
  OVERHEAD_BYTES + key.length + (value?.length ?? 0) + (previous?.value.length ?? 0);

export class History {
  /** The oldest revision whose state can be read: every change after it is here. */
  floor: number;
  readonly #bytesMax: number;
  readonly #retainedBytesMax: number;
  readonly #retained = new RetainedRevisions();
  #changes: PastChange[] = [];
  /**
   * The index of the first change that is kept. The changes before it are dropped together: one by one would be slow.
   */
  #first = 0;
  #bytes = 0;

  /** `bytesMax` bounds the changes that nobody retains, `retainedBytesMax` all of them. */
  constructor(floor: number, bytesMax: number, retainedBytesMax: number) {
    this.floor = floor;
    this.#bytesMax = bytesMax;
    this.#retainedBytesMax = retainedBytesMax;
  }

  /** Adds complete revisions, in order, and forgets the oldest ones beyond the bound. */
  append(changes: readonly PastChange[]): void {
    for (const change of changes) {
      this.#changes.push(change);
      this.#bytes += bytesOf(change);
    }
    this.#shrink();
  }

  retain(revision: number): Retained {
    return this.#retained.retain(revision, () => this.#shrink());
  }

  /** The revision that a compaction to this one may reach. */
  compactable(revision: number): number {
    return this.#retained.bound(revision, this.floor);
  }

  #shrink(): void {
    while (this.#bytes > this.#bytesMax) {
      const oldest = this.#changes[this.#first];
      if (oldest === undefined) return;
      const isRetained = this.compactable(oldest.revision) < oldest.revision;
      if (isRetained && this.#bytes <= this.#retainedBytesMax) return;
      this.forget(oldest.revision);
    }
  }

  /** Forgets the changes up to the revision; the state at the revision can still be read. */
  forget(revision: number): void {
    this.floor = Math.max(this.floor, revision);
    const end = this.#indexAfter(revision);
    for (let index = this.#first; index < end; index += 1) {
      const change = this.#changes[index];
      if (change !== undefined) this.#bytes -= bytesOf(change);
    }
    this.#first = end;
    // A slice for each forgotten change would copy the rest each time; when half is forgotten, it costs next to nothing
    // per change. Forgotten changes must not linger when little is written, though: a purge has asked to forget them.
    if (this.#first * 2 >= this.#changes.length) this.trim();
  }

  /** Frees the memory of all changes that were forgotten. */
  trim(): void {
    this.#changes = this.#changes.slice(this.#first);
    this.#first = 0;
  }

  /** The changes after a revision that is not older than `floor`. */
  *after(revision: number): Generator<PastChange, undefined> {
    for (let index = this.#indexAfter(revision); index < this.#changes.length; index += 1) {
      const change = this.#changes[index];
      if (change !== undefined) yield change;
    }
  }

  #indexAfter(revision: number): number {
    let [low, high] = [this.#first, this.#changes.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#changes[middle]?.revision ?? 0) > revision) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
