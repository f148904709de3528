import type { Entry } from '../../../store/port.ts';
import { HOUR_MS } from '../../../time/utc-days.ts';
import { placeAt } from '../../records/audit-records.ts';
import type { BoundedReads } from './bounded-reads.ts';
import { BEGINNING, boundAfter, boundAt, END, FINEST, instantAt, positionOf } from './positions.ts';

/* What no segment describes is read entry by entry. */

/** Entries of one list. */
const AT_ONCE = 250;
/** The stretch of time that is read first; it grows and shrinks with how many entries it has. */
const FIRST_STRETCH_MS = HOUR_MS;
/** No stretch is shorter, so that each has a bound before its end. */
const SHORTEST = 2 * FINEST;
const FACTOR_MAX = 16;

/** The greatest instant that a key can tell. */
export const END_OF_TIME = 36 ** 9 - 1;

/** The entries between two bounds; not whole where one list does not hold them. */
export async function between(
  reads: BoundedReads,
  prefix: string,
  after: string,
  before: string,
  limit = AT_ONCE,
): Promise<{ readonly entries: readonly Entry[]; readonly isWhole: boolean }> {
  const page = await reads.list({ prefix, after: prefix + after, limit });
  const entries = page.entries.filter(({ key }) => key.slice(prefix.length) < before);
  return { entries, isWhole: page.next === undefined || entries.length < page.entries.length };
}

/** All entries between two bounds, where there are not many more than `count`. */
export async function allBetween(
  reads: BoundedReads,
  prefix: string,
  after: string,
  before: string,
  count: number,
): Promise<readonly Entry[]> {
  const all: Entry[] = [];
  for (let from = after; ;) {
    const { entries, isWhole } = await between(reads, prefix, from, before, count + 1);
    all.push(...entries);
    const last = entries.at(-1);
    if (isWhole || !last) return all;
    from = last.key.slice(prefix.length);
  }
}

/** What a list has brought of a stretch that it did not hold: it is kept until the reading comes to it. */
interface Chunk {
  readonly after: string;
  readonly end: string;
  readonly entries: readonly Entry[];
}

/**
 * Reads a gap from its end on. The store lists in the order of keys alone, so that it is read stretch by stretch, back
 * in time: of a stretch that one list does not hold a later part is read first.
 */
export class GapBackwards {
  readonly #reads: BoundedReads;
  readonly #prefix: string;
  #floor: string | undefined;
  /** They lie one before the other. */
  #chunks: Chunk[] = [];
  #stretch = FIRST_STRETCH_MS;

  constructor(reads: BoundedReads, prefix: string) {
    [this.#reads, this.#prefix] = [reads, prefix];
  }

  /** The newest entries between two bounds, and the bound that is left to be read up to: the lower one at the end. */
  async read(floor: string, to: string): Promise<{ readonly entries: readonly Entry[]; readonly to: string }> {
    let end = to;
    if (this.#floor !== floor) {
      const rest = await this.#between(floor, to);
      if (rest.isWhole) return { entries: rest.entries, to: floor };
      [this.#floor, this.#chunks, this.#stretch] = [floor, [this.#chunkOf(floor, rest.entries)], FIRST_STRETCH_MS];
      // Clocks of replicas may be ahead of this one: the newest key itself says where the end is.
      if (to === END) end = placeAt((await this.#newestInstant(this.#chunks[0]?.end ?? BEGINNING)) + 1);
    }
    for (;;) {
      const chunk = this.#chunks.at(-1);
      if (chunk && chunk.end >= end) {
        this.#chunks.pop();
        return { entries: chunk.entries.filter((entry) => this.#suffixOf(entry) < end), to: chunk.after };
      }
      const begin = positionOf(end) - this.#stretch;
      const bound = boundAt(Math.max(0, this.#stretch < 1 ? begin : Math.floor(begin)));
      const after = chunk && chunk.end > bound ? chunk.end : bound > floor ? bound : floor;
      const { entries, isWhole } = await this.#between(after, end);
      if (isWhole || this.#stretch <= SHORTEST) {
        const all = isWhole ? entries : await allBetween(this.#reads, this.#prefix, after, end, AT_ONCE);
        const factor = Math.min(FACTOR_MAX, AT_ONCE / 2 / Math.max(1, all.length));
        this.#stretch = Math.max(SHORTEST, this.#stretch * factor);
        return { entries: all, to: after < end ? after : end };
      }
      const found = this.#chunkOf(after, entries);
      this.#chunks.push(found);
      const span = (positionOf(found.end) - positionOf(after)) / 2;
      this.#stretch = Math.max(SHORTEST, Math.min(this.#stretch / FACTOR_MAX, span));
    }
  }

  #chunkOf(after: string, entries: readonly Entry[]): Chunk {
    const last = entries.at(-1);
    return { after, end: last ? boundAfter(this.#suffixOf(last)) : after, entries };
  }

  #suffixOf({ key }: Entry): string {
    return key.slice(this.#prefix.length);
  }

  async #between(after: string, before: string) {
    return await between(this.#reads, this.#prefix, after, before);
  }

  /**
   * An instant at or after that of the newest entry, by halving: the store tells whether anything follows a place. At
   * most some 20 tiny reads for years of audit; none of them more than one key.
   */
  async #newestInstant(bottom: string): Promise<number> {
    let [low, step] = [instantAt(bottom), HOUR_MS];
    while (low + step < END_OF_TIME && (await this.#hasAfter(low + step))) {
      low += step;
      step *= 8;
    }
    while (step > HOUR_MS) {
      step = Math.max(HOUR_MS, Math.floor(step / 2));
      if (await this.#hasAfter(low + step)) low += step;
    }
    return Math.min(low + 2 * HOUR_MS, END_OF_TIME);
  }

  async #hasAfter(instant: number): Promise<boolean> {
    const prefix = this.#prefix;
    const page = await this.#reads.list({ prefix, after: prefix + placeAt(instant), limit: 1, keysOnly: true });
    return page.entries.length > 0;
  }
}
