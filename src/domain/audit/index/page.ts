import { type AuditIndexPageRecord, instantOf, type SealRecord } from '../../records/audit-records.ts';
import { hashOf } from './terms.ts';

/*
 * A page of the index describes blocks of the chain that follow each other, with 2048 entries at most. For each term it
 * has the places of the entries with that term: 0 is the first entry of its first block. Its bytes are
 * - the number of terms,
 * - for each term, in ascending order of hashes: the hash, and where the places begin, in words of two bytes,
 * - the places: fewer than 128 as words in ascending order, more of them as 128 words with a bit for each place.
 */

/** A page has fewer entries than this, and one block. */
export const PAGE_ENTRIES = 2048;
/** A page with so many terms takes no further block: its text stays below 100 KB. */
const TERMS_MAX = 6144;
const BITMAP_WORDS = PAGE_ENTRIES / 16;
const HEAD_BYTES = 4;
const TERM_BYTES = 6;

/** An entry that cannot be read may have each term: a question that reaches it says so. */
export const UNREADABLE = '?';

/** A block with the terms of each of its entries, in their order. */
export interface DescribedBlock {
  readonly block: Pick<SealRecord, 'number' | 'entries'>;
  readonly terms: readonly (readonly string[])[];
}

/** A page that is being written. */
export class OpenPage {
  readonly from: number;
  readonly #counts: number[] = [];
  readonly #places = new Map<number, number[]>();
  #entries = 0;
  #oldest = Number.MAX_SAFE_INTEGER;
  #newest = 0;
  #newestYet: number;

  /** @param newestYet the newest instant of the entries of the pages before */
  constructor(from: number, newestYet: number) {
    [this.from, this.#newestYet] = [from, newestYet];
  }

  /** A page that was written goes on. */
  static of(record: AuditIndexPageRecord): OpenPage {
    const open = new OpenPage(record.from, record.newestYet);
    open.#counts.push(...countsOf(record));
    open.#entries = sum(open.#counts);
    [open.#oldest, open.#newest] = [record.oldest, record.newest];
    const terms = new Terms(record);
    for (const hash of terms.hashes()) open.#places.set(hash, [...terms.placesOf(hash)]);
    return open;
  }

  /** The newest instant of its entries and of those before. */
  get newestYet(): number {
    return this.#newestYet;
  }

  /** Adds the next block; false where the page has no room for it. */
  add({ block, terms }: DescribedBlock): boolean {
    const count = block.entries.length;
    const isFull = this.#entries + count > PAGE_ENTRIES || this.#places.size >= TERMS_MAX;
    if (isFull && this.#counts.length > 0) return false;
    for (const [at, [name]] of block.entries.entries()) {
      const instant = instantOf(name);
      // An instant that is not known may be any.
      this.#oldest = Math.min(this.#oldest, Number.isNaN(instant) ? 0 : instant);
      this.#newest = Math.max(this.#newest, Number.isNaN(instant) ? Number.MAX_SAFE_INTEGER : instant);
      for (const hash of new Set((terms[at] ?? []).map(hashOf))) {
        const places = this.#places.get(hash);
        if (places) places.push(this.#entries + at);
        else this.#places.set(hash, [this.#entries + at]);
      }
    }
    this.#newestYet = Math.max(this.#newestYet, this.#newest);
    this.#counts.push(count);
    this.#entries += count;
    return true;
  }

  record(): AuditIndexPageRecord {
    return {
      from: this.from,
      counts: Buffer.from(this.#counts).toString('base64'),
      oldest: this.#oldest,
      newest: this.#newest,
      newestYet: this.#newestYet,
      terms: written(this.#places),
    };
  }
}

/** The number of entries of each block of a page. */
export const countsOf = ({ counts }: AuditIndexPageRecord): readonly number[] => [...Buffer.from(counts, 'base64')];

/** The number of the last block of a page. */
export const lastBlockOf = (page: Pick<AuditIndexPageRecord, 'from' | 'counts'>): number =>
  page.from + Buffer.byteLength(page.counts, 'base64') - 1;

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

/**
 * The places of a page that may have an entry with all of these terms, in ascending order.
 * @param hashes of the terms that are asked for; where there is none, each place is meant
 */
export function placesWith(page: AuditIndexPageRecord, hashes: readonly number[]): readonly number[] {
  const [first, ...others] = hashes;
  if (first === undefined) return Array.from({ length: sum(countsOf(page)) }, (_, place) => place);
  const terms = new Terms(page);
  let places = terms.placesOf(first);
  for (const hash of others) {
    if (places.length === 0) break;
    const further = new Set(terms.placesOf(hash));
    places = places.filter((place) => further.has(place));
  }
  const unreadable = terms.placesOf(hashOf(UNREADABLE));
  return unreadable.length === 0 ? places : [...new Set([...places, ...unreadable])].sort((a, b) => a - b);
}

/** The terms of a page, as they were written. */
class Terms {
  readonly #bytes: Buffer;
  readonly #count: number;

  constructor({ terms }: AuditIndexPageRecord) {
    this.#bytes = Buffer.from(terms, 'base64');
    const count = this.#bytes.length < HEAD_BYTES ? 0 : this.#bytes.readUInt32BE(0);
    // A text that somebody changed has any numbers in it.
    this.#count = Math.min(count, Math.floor((this.#bytes.length - HEAD_BYTES) / TERM_BYTES));
  }

  *hashes(): Iterable<number> {
    for (let at = 0; at < this.#count; at += 1) yield this.#hashAt(at);
  }

  placesOf(hash: number): readonly number[] {
    let [low, high] = [0, this.#count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#hashAt(middle) < hash) low = middle + 1;
      else high = middle;
    }
    return low < this.#count && this.#hashAt(low) === hash ? this.#places(low) : [];
  }

  #hashAt(at: number): number {
    return this.#bytes.readUInt32BE(HEAD_BYTES + at * TERM_BYTES);
  }

  /** The byte at which the places of a term begin; those of the one before end there. */
  #beginOf(at: number): number {
    if (at === this.#count) return this.#bytes.length;
    const words = this.#bytes.readUInt16BE(HEAD_BYTES + at * TERM_BYTES + 4);
    return HEAD_BYTES + this.#count * TERM_BYTES + 2 * words;
  }

  #places(at: number): readonly number[] {
    const words: number[] = [];
    const end = Math.min(this.#beginOf(at + 1), this.#bytes.length);
    for (let byte = this.#beginOf(at); byte + 2 <= end; byte += 2) words.push(this.#bytes.readUInt16BE(byte));
    if (words.length < BITMAP_WORDS) return words;
    return words.flatMap((bits, word) => BITS.filter((bit) => (bits >> bit) & 1).map((bit) => word * 16 + bit));
  }
}

const BITS = Array.from({ length: 16 }, (_, bit) => bit);

function written(all: ReadonlyMap<number, readonly number[]>): string {
  const inOrder = [...all].sort(([a], [b]) => a - b).map(([hash, places]) => ({ hash, words: wordsOf(places) }));
  const begin = HEAD_BYTES + inOrder.length * TERM_BYTES;
  const bytes = Buffer.alloc(begin + 2 * sum(inOrder.map(({ words }) => words.length)));
  bytes.writeUInt32BE(inOrder.length, 0);
  let at = 0;
  for (const [term, { hash, words }] of inOrder.entries()) {
    bytes.writeUInt32BE(hash, HEAD_BYTES + term * TERM_BYTES);
    bytes.writeUInt16BE(at, HEAD_BYTES + term * TERM_BYTES + 4);
    for (const word of words) {
      bytes.writeUInt16BE(word, begin + 2 * at);
      at += 1;
    }
  }
  return bytes.toString('base64');
}

function wordsOf(places: readonly number[]): readonly number[] {
  if (places.length < BITMAP_WORDS) return places;
  const words = Array.from({ length: BITMAP_WORDS }, () => 0);
  for (const place of places) {
    const word = place >> 4;
    words[word] = (words[word] ?? 0) | (1 << (place & 15));
  }
  return words;
}
