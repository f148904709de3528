import { inParallel } from '../../../concurrency/in-parallel.ts';
import type { Entry } from '../../../store/port.ts';
import {
  auditKey,
  instantOf,
  type AuditIndexRecord,
  type ChainRecord,
  type SealRecord,
} from '../../records/audit-records.ts';
import { BadRecord, parseRecord } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';
import { readBlocks, readNamed } from '../blocks.ts';
import { countsOf, placesWith } from '../index/page.ts';
import { hashOf, termsAskedFor } from '../index/terms.ts';
import { readChain } from '../seal.ts';
import type { Spot } from './cursor.ts';
import { IndexPages } from './index-pages.ts';
import { asksForAll, foundIn, isWithin, type Found, type Reading } from './question.ts';

/** Entries that one step reads at most. */
const STEP_ENTRIES = 100;
/** Blocks that are read one after the other at once: so many at first, and twice as many each time. */
const [BLOCKS_AT_FIRST, BLOCKS_AT_ONCE] = [8, 64];
const READS_AT_ONCE = 16;

/** An entry of a block that may be asked for. */
interface Candidate extends Spot {
  /** Its position among all entries of the blocks that were looked at together. */
  readonly place: number;
}

export interface Sealed extends Found {
  /** Its position. Going through the blocks from the newest one on goes on before it. */
  readonly spot: Spot;
}

/**
 * Goes through the sealed entries of an audit that are asked for, in the order of the chain or from its end on. Where
 * the index describes blocks, those entries alone are read that may be asked for.
 */
export class SealedEntries {
  readonly #reading: Reading;
  readonly #chain: ChainRecord;
  readonly #step: 1 | -1;
  readonly #hashes: readonly number[];
  readonly #isAll: boolean;
  readonly #head: AuditIndexRecord | undefined;
  readonly #pages: IndexPages | undefined;
  /** All before it is read, or all after it: a place between two entries. */
  #spot: Spot;
  #candidates: Candidate[] = [];
  /** The place behind the candidates. */
  #behind: Spot;
  /** Each candidate has what is asked for, unless another term has the same hash. */
  #isExact = true;
  #blocks = new Map<number, SealRecord>();
  #blocksAtOnce = BLOCKS_AT_FIRST;

  /**
   * @param index the head of the audit's index, where not all is asked for
   * @param spot where it begins, by default at the end
   */
  constructor(reading: Reading, chain: ChainRecord, index: AuditIndexRecord | undefined, spot: Spot | undefined) {
    const { reads, accountId, order, bounds } = reading;
    [this.#reading, this.#chain, this.#head] = [reading, chain, index];
    this.#step = order === 'asc' ? 1 : -1;
    this.#hashes = termsAskedFor(bounds).map(hashOf);
    this.#isAll = asksForAll(bounds);
    if (index) this.#pages = new IndexPages(reads, accountId, index, this.#step);
    const [first, end] = [chain.base.number + 1, chain.number + 1];
    const begin = spot ?? { block: order === 'asc' ? first : end, at: 0 };
    this.#spot = begin.block < first ? { block: first, at: 0 } : begin.block > end ? { block: end, at: 0 } : begin;
    this.#behind = this.#spot;
  }

  get spot(): Spot {
    return this.#spot;
  }

  get isRead(): boolean {
    const { block, at } = this.#spot;
    if (this.#candidates.length > 0) return false;
    return this.#step === 1 ? block > this.#chain.number : at === 0 && block <= this.#chain.base.number + 1;
  }

  /**
   * Reads the next ones, none where a part has none.
   * @param wanted about so many; there may be more
   * @throws StoreUnavailable; BadRecord where a block or an entry cannot be read
   */
  async next(wanted: number): Promise<readonly Sealed[]> {
    if (this.#candidates.length === 0) await this.#lookAhead();
    const count = this.#isExact ? Math.min(wanted, STEP_ENTRIES) : STEP_ENTRIES;
    const taken = this.#candidates.splice(0, count);
    const last = taken.at(-1);
    const found = await this.#read(this.#step === 1 ? taken : taken.toReversed());
    if (this.#candidates.length === 0 || !last) this.#spot = this.#behind;
    else this.#spot = this.#step === 1 ? { block: last.block, at: last.at + 1 } : last;
    return this.#step === 1 ? found : found.toReversed();
  }

  /** Finds candidates in the next blocks: by the page that describes them, or all entries of some of them. */
  async #lookAhead(): Promise<void> {
    const { block, at } = this.#spot;
    const next = this.#step === 1 || at > 0 ? block : block - 1;
    this.#blocks = new Map();
    const page = await this.#pages?.describing(next);
    if (!page) return await this.#lookAtBlocks(next);
    const { bounds } = this.#reading;
    const counts = countsOf(page);
    this.#behind = { block: this.#step === 1 ? page.from + counts.length : page.from, at: 0 };
    this.#isExact = isWithin(page.oldest, bounds) && isWithin(page.newest, bounds);
    if (this.#step === -1 && bounds.from !== undefined && page.newestYet < bounds.from) {
      this.#behind = { block: this.#chain.base.number + 1, at: 0 };
    } else if (isWithin(page.newest, { from: bounds.from }) && isWithin(page.oldest, { to: bounds.to })) {
      this.#candidates = this.#ahead(candidatesAt(page.from, counts, placesWith(page, this.#hashes)));
    }
  }

  async #lookAtBlocks(next: number): Promise<void> {
    const { base, number } = this.#chain;
    const indexed = this.#pages ? (this.#head?.block ?? 0) : 0;
    const first = Math.max(base.number, next > indexed ? indexed : 0) + 1;
    const end = next + this.#step * (this.#blocksAtOnce - 1);
    this.#blocksAtOnce = Math.min(BLOCKS_AT_ONCE, this.#blocksAtOnce * 2);
    const all = numbersBetween(Math.max(first, Math.min(next, end)), Math.min(number, Math.max(next, end)));
    await this.#readBlocks(all);
    // Those up to one that is missing: it is told once the reading comes to it.
    const inStep = this.#step === 1 ? all : all.toReversed();
    const missing = inStep.findIndex((one) => !this.#blocks.has(one));
    const there = inStep.slice(0, missing < 0 ? all.length : missing).toSorted((a, b) => a - b);
    if (there.length === 0) await this.#checkGone(next);
    const [from, to] = there.length === 0 ? [next, next] : [there[0] ?? next, there.at(-1) ?? next];
    const counts = there.map((one) => this.#blocks.get(one)?.entries.length ?? 0);
    const places = numbersBetween(0, counts.reduce((sum, one) => sum + one, 0) - 1);
    this.#behind = { block: this.#step === 1 ? to + 1 : from, at: 0 };
    this.#isExact = this.#isAll;
    this.#candidates = this.#ahead(candidatesAt(from, counts, places));
  }

  /** Those that are not passed yet, the next one first. */
  #ahead(inOrder: readonly Candidate[]): Candidate[] {
    const { block, at } = this.#spot;
    const { base, number } = this.#chain;
    const isFrom = (one: Candidate): boolean => one.block > block || (one.block === block && one.at >= at);
    // A page may describe blocks that are gone, and some that were sealed since.
    const inChain = inOrder.filter((one) => one.block > base.number && one.block <= number);
    return this.#step === 1 ? inChain.filter(isFrom) : inChain.filter((one) => !isFrom(one)).toReversed();
  }

  /** Reads candidates in the order of the chain. */
  async #read(candidates: readonly Candidate[]): Promise<readonly Sealed[]> {
    const numbers = [...new Set(candidates.map(({ block }) => block))];
    await this.#readBlocks(numbers);
    const missing = numbers.findLast((number) => !this.#blocks.has(number));
    if (missing !== undefined) await this.#checkGone(missing);
    const named = candidates.flatMap((one) => {
      const [name] = this.#blocks.get(one.block)?.entries[one.at] ?? [];
      const isAsked = name !== undefined && isWithin(instantOf(name), this.#reading.bounds);
      return isAsked ? [{ name, spot: { block: one.block, at: one.at }, place: one.place }] : [];
    });
    const [first, last] = [named[0], named.at(-1)];
    if (!first || !last) return [];
    const entries = await this.#entriesOf(
      named.map(({ name }) => name),
      last.place - first.place + 1 - named.length,
    );
    return named.flatMap(({ name, spot }) => {
      const entry = entries.get(name);
      const found = entry && foundIn(this.#reading, entry);
      return found ? [{ ...found, spot }] : [];
    });
  }

  /** By one list where they lie close to each other. @param passedOver how many lie between them */
  async #entriesOf(names: readonly string[], passedOver: number): Promise<ReadonlyMap<string, Entry>> {
    const { reads, accountId } = this.#reading;
    if (passedOver <= names.length) return await readNamed(reads, accountId, names, passedOver);
    const entries = new Map<string, Entry>();
    await inParallel(names, { atOnce: READS_AT_ONCE }, async (name) => {
      const entry = await reads.get(auditKey(accountId, name));
      if (entry) entries.set(name, entry);
    });
    return entries;
  }

  /** Reads those blocks that are there, in ascending order: by one list where they lie close to each other. */
  async #readBlocks(numbers: readonly number[]): Promise<void> {
    const { reads, accountId } = this.#reading;
    const missing = numbers.filter((number) => !this.#blocks.has(number));
    const [first, last] = [missing[0], missing.at(-1)];
    if (first === undefined || last === undefined) return;
    if (last - first < 2 * missing.length) {
      for (const block of await readBlocks(reads, accountId, first, last)) this.#blocks.set(block.number, block);
      return;
    }
    await inParallel(missing, { atOnce: READS_AT_ONCE }, async (number) => {
      const entry = await reads.get(KEYS.seal(accountId, number));
      if (entry) this.#blocks.set(number, parseRecord(KEYS.seal, entry).record);
    });
  }

  /** @throws BadRecord where the retention has not removed a block: its entries would be left out in silence */
  async #checkGone(block: number): Promise<void> {
    const { reads, accountId } = this.#reading;
    if (block <= (await readChain(reads, accountId)).record.base.number) return;
    throw new BadRecord(`The audit chain of ${accountId} is broken at block ${block}.`);
  }
}

const numbersBetween = (first: number, last: number): readonly number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at);

/** The entries at ascending places of blocks that follow each other. */
function candidatesAt(from: number, counts: readonly number[], places: readonly number[]): readonly Candidate[] {
  const candidates: Candidate[] = [];
  let [index, begin] = [0, 0];
  for (const place of places) {
    while (index < counts.length && place >= begin + (counts[index] ?? 0)) {
      begin += counts[index] ?? 0;
      index += 1;
    }
    if (index < counts.length) candidates.push({ block: from + index, at: place - begin, place });
  }
  return candidates;
}
