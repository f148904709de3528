import { PAGE_ENTRIES_MAX } from '../../../store/port.ts';
import type { AuditIndexRecord, SegmentRecord } from '../../records/audit-records.ts';
import { KEYS } from '../../records/keys.ts';
import { newestSegment, readSegment, segmentIn } from '../index/find.ts';
import { bitOf, bucketsWith, lastOf } from '../index/segment.ts';
import type { BoundedReads } from './bounded-reads.ts';
import { BEGINNING, boundAfter } from './positions.ts';

/** A part of an audit that may have entries that are asked for. */
export interface Piece {
  /** Its entries lie between these bounds. */
  readonly after: string;
  readonly before: string;
  /** The lowest and the highest revision of its entries. */
  readonly low: number;
  readonly high: number;
}

/** So many segments are read at once at most, after one, two, four: a megabyte or two. */
const AT_ONCE_MAX = 64;

/** The bound at which a segment begins. */
export const beginOf = ({ after }: SegmentRecord): string => (after === '' ? BEGINNING : boundAfter(after));
/** The bound at which a segment ends. */
export const endOf = (segment: SegmentRecord): string => boundAfter(lastOf(segment));

/** Reads the segments of an audit, one after the other, in batches that grow. */
export class Segments {
  readonly first: number;
  readonly last: number;
  readonly #reads: BoundedReads;
  readonly #accountId: string;
  readonly #hashes: readonly number[];
  #batch = new Map<number, SegmentRecord | undefined>();
  #size = 1;

  /** @param hashes of the terms that are asked for */
  constructor(
    reads: BoundedReads,
    accountId: string,
    { first, last }: Pick<AuditIndexRecord, 'first' | 'last'>,
    hashes: readonly number[],
  ) {
    [this.#reads, this.#accountId, this.#hashes] = [reads, accountId, hashes];
    [this.first, this.last] = [first, last];
  }

  /** The number of the newest segment that begins before a bound; one less than the oldest where none does. */
  async newestBefore(bound: string): Promise<number> {
    const read = async (number: number) => (await readSegment(this.#reads, this.#accountId, number)).record;
    return await newestSegment(this, read, (segment) => beginOf(segment) < bound);
  }

  /**
   * Reads a segment, and some of those that follow in the direction of `step`.
   * @returns undefined where there is none of that number
   */
  async at(number: number, step: 1 | -1): Promise<SegmentRecord | undefined> {
    if (!this.#batch.has(number)) await this.#load(number, step);
    return this.#batch.get(number);
  }

  async #load(number: number, step: 1 | -1): Promise<void> {
    const end = number + step * (this.#size - 1);
    const [low, high] = [Math.max(this.first, Math.min(number, end)), Math.min(this.last, Math.max(number, end))];
    const limit = Math.min(high - low + 1, PAGE_ENTRIES_MAX);
    const prefix = KEYS.auditSegment.under(this.#accountId);
    const { entries } = await this.#reads.list({
      prefix,
      after: KEYS.auditSegment(this.#accountId, low - 1),
      limit,
    });
    const found = new Map(entries.map((entry) => [String(entry.key), entry]));
    this.#batch = new Map();
    for (let at = low; at <= high; at += 1) {
      const entry = found.get(KEYS.auditSegment(this.#accountId, at));
      this.#batch.set(at, entry && segmentIn(entry));
    }
    this.#size = Math.min(AT_ONCE_MAX, this.#size * 2);
  }

  /** The parts of a segment that may have what is asked for, oldest first, as far as they lie between the bounds. */
  piecesOf(segment: SegmentRecord, from: string, to: string): readonly Piece[] {
    const bits = bucketsWith(segment, this.#hashes);
    let begin = beginOf(segment);
    const pieces: Piece[] = [];
    for (const [at, [last, low, high]] of segment.buckets.entries()) {
      const end = boundAfter(last);
      const [after, before] = [begin > from ? begin : from, end < to ? end : to];
      if ((bits & bitOf(at)) !== 0 && after < before) pieces.push({ after, before, low, high });
      begin = end;
    }
    return pieces;
  }
}
