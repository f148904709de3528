import type { SegmentRecord } from '../../records/audit-records.ts';
import { hashOf } from './terms.ts';

/*
 * A segment describes a stretch of an audit, by keys: up to 32 buckets of 64 entries each, and for each term of these
 * entries the buckets that have it. The terms are eight bytes each, in ascending order: 32 bits of a hash, and a bit
 * for each bucket, the first one the lowest.
 */

export const BUCKET_ENTRIES = 64;
const BUCKETS_MAX = 32;
/** A segment that has so many terms takes no further bucket: its text stays below 50 KB. */
const TERMS_MAX = 4096;
const TERM_BYTES = 8;

/** So many entries of an audit that follow each other, and their terms. */
export interface Bucket {
  /** Its last entry, by the last part of the key. */
  readonly last: string;
  /** The lowest and the highest revision of its entries. */
  readonly low: number;
  readonly high: number;
  readonly terms: ReadonlySet<string>;
}

/** A segment of one bucket, for what follows an entry. */
export const segmentOf = (after: string, bucket: Bucket): SegmentRecord => ({
  after,
  buckets: [[bucket.last, bucket.low, bucket.high]],
  terms: written(withTerms(new Map(), bucket, 0)),
});

/** The segment with a further bucket; undefined where it is full. */
export function withBucket(segment: SegmentRecord, bucket: Bucket): SegmentRecord | undefined {
  const { buckets } = segment;
  if (buckets.length >= BUCKETS_MAX) return undefined;
  const terms = withTerms(read(segment.terms), bucket, buckets.length);
  if (terms.size > TERMS_MAX) return undefined;
  const { last, low, high } = bucket;
  return { ...segment, buckets: [...buckets, [last, low, high]], terms: written(terms) };
}

/** The segment without those of its buckets that end at or after an entry; undefined where none is left. */
export function cutBefore(segment: SegmentRecord, suffix: string): SegmentRecord | undefined {
  const buckets = segment.buckets.filter(([last]) => last < suffix);
  if (buckets.length === 0) return undefined;
  const kept = Array.from(
    read(segment.terms),
    ([hash, bits]) => [hash, (bits & firstBits(buckets.length)) >>> 0] as const,
  );
  return { ...segment, buckets, terms: written(new Map(kept.filter(([, bits]) => bits !== 0))) };
}

const firstBits = (count: number): number => 2 ** count - 1;
/** The bit of the bucket at a place. */
export const bitOf = (place: number): number => 2 ** place;

/** The last entry that a segment describes. */
export const lastOf = ({ buckets }: SegmentRecord): string => buckets.at(-1)?.[0] ?? '';

/** The buckets that may have an entry with all of these terms, a bit each, the first one the lowest. */
export function bucketsWith(segment: SegmentRecord, hashes: readonly number[]): number {
  let bits = firstBits(segment.buckets.length);
  if (hashes.length === 0) return bits;
  const terms = Buffer.from(segment.terms, 'base64');
  for (const hash of hashes) bits = (bits & bitsOf(terms, hash)) >>> 0;
  return bits;
}

function bitsOf(terms: Buffer, hash: number): number {
  let [low, high] = [0, Math.floor(terms.length / TERM_BYTES)];
  while (low < high) {
    const middle = (low + high) >> 1;
    const found = terms.readUInt32BE(middle * TERM_BYTES);
    if (found === hash) return terms.readUInt32BE(middle * TERM_BYTES + 4);
    if (found < hash) low = middle + 1;
    else high = middle;
  }
  return 0;
}

/** Adds the terms of the bucket at a place. */
function withTerms(all: Map<number, number>, { terms }: Bucket, place: number): Map<number, number> {
  for (const hash of Array.from(terms, hashOf)) all.set(hash, ((all.get(hash) ?? 0) | bitOf(place)) >>> 0);
  return all;
}

function read(text: string): Map<number, number> {
  const terms = Buffer.from(text, 'base64');
  const all = new Map<number, number>();
  for (let at = 0; at + TERM_BYTES <= terms.length; at += TERM_BYTES) {
    all.set(terms.readUInt32BE(at), terms.readUInt32BE(at + 4));
  }
  return all;
}

function written(terms: ReadonlyMap<number, number>): string {
  const bytes = Buffer.alloc(terms.size * TERM_BYTES);
  for (const [at, hash] of Uint32Array.from(terms.keys()).sort().entries()) {
    bytes.writeUInt32BE(hash, at * TERM_BYTES);
    bytes.writeUInt32BE(terms.get(hash) ?? 0, at * TERM_BYTES + 4);
  }
  return bytes.toString('base64');
}
