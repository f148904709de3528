import type { Entry } from '../../../store/port.ts';
import { placeAt, suffixOf } from '../../records/audit-records.ts';
import { KEYS } from '../../records/keys.ts';
import { readBlocks } from '../blocks.ts';
import { compareTo, SPREAD_MS, type Place } from '../following/store-order.ts';
import type { BoundedReads } from './bounded-reads.ts';
import type { Unsealed } from './cursor.ts';
import { foundIn, instantIn, type Found, type Reading } from './question.ts';

/** Entries of one list. */
const AT_ONCE = 150;
/** Lists that a later page reads at most for entries that one list has held. */
const LISTS_OF_FEW = 4;
/** The stretch of time that is read first, and those that are tried where a longer one has more than a list holds. */
const STRETCH_MS = 256;
const SHORTER_MS = [STRETCH_MS, 16, 1];
/** A stretch with fewer entries is a short one: the next is longer. */
const FEW = 30;
/** The greatest instant that a key can tell. */
const END_OF_TIME = 36 ** 9 - 1;
/** After each key. */
const LAST = '~';

/**
 * No entry that was in no block, when this was the newest one, has a key before this part of one.
 * @throws StoreUnavailable; BadRecord
 */
export async function unsealedFloor(reads: BoundedReads, accountId: string, number: number): Promise<string> {
  const [newest] = number === 0 ? [] : await readBlocks(reads, accountId, number, number);
  const [name] = newest?.entries.at(-1) ?? [];
  if (!newest || name === undefined) return '';
  // A later commit has an older instant by the spread at most. The clock of that last entry may be ahead.
  return placeAt(Math.min(newest.at, instantIn(name)) - 2 * SPREAD_MS);
}

/**
 * Reads the entries that were in no block at the head of a chain. Few of them are read by one list, and come in the
 * order of the store. Many come in the order of their keys, which begin with the instant. The store lists from the
 * oldest key on alone, so that many are read from the newest on stretch by stretch, back in time.
 */
export class UnsealedEntries {
  readonly #reading: Reading;
  readonly #prefix: string;
  readonly #from: Unsealed;
  /** The entry that a page in the order of the store has given last. */
  readonly #given: Place | undefined;
  /** Those that are not read yet have keys between these. */
  #low: string;
  #high: string;
  #kind: 'few' | 'many' | undefined;
  /** See `Unsealed`. */
  #end: string | undefined;
  /** The milliseconds that one list has held last, or a multiple of them. */
  #stretch = STRETCH_MS;
  /** An entry lies just before `#high`. */
  #isTight = false;

  /**
   * @param from where the page begins: with its first entry, where no key and no name is given
   * @param floor see `unsealedFloor`
   * @param given the entry that `from` names
   */
  constructor(reading: Reading, from: Unsealed, floor: string, given: Place | undefined) {
    const { accountId, bounds, order } = reading;
    [this.#reading, this.#from, this.#given, this.#end] = [reading, from, given, from.end];
    this.#prefix = KEYS.audit.under(accountId);
    const begin = placeAt(Math.min(bounds.from ?? 0, END_OF_TIME));
    const until = bounds.to === undefined || bounds.to > END_OF_TIME ? LAST : placeAt(bounds.to);
    this.#low = laterOf(laterOf(begin, floor), order === 'asc' ? (from.key ?? '') : '');
    this.#high = earlierOf(earlierOf(until, from.end ?? LAST), order === 'desc' ? (from.key ?? LAST) : LAST);
    if (from.key !== undefined) this.#kind = 'many';
  }

  get isRead(): boolean {
    return this.#low >= this.#high;
  }

  /** The place behind an entry that was given, or behind all that was read. */
  cursor(name: string | undefined): Unsealed {
    const { number, through, given } = this.#from;
    if (this.#kind === undefined) return this.#from;
    if (this.#kind === 'few') return { number, through, given: name ?? given, end: this.#end };
    const key = name ?? (this.#reading.order === 'asc' ? this.#low : this.#high);
    return { number, through, key, given, end: this.#end };
  }

  /** The next ones that are asked for; none where a stretch has none. @throws StoreUnavailable; BadRecord */
  async next(): Promise<readonly Found[]> {
    const entries = (await this.#nextEntries()).filter(({ revision }) => revision > this.#from.through);
    const found = entries.map((entry) => foundIn(this.#reading, entry)).filter((one) => one !== undefined);
    const isByStore = this.#kind === 'few';
    found.sort((a, b) => (isByStore ? a.revision - b.revision : 0) || (a.name < b.name ? -1 : 1));
    const sign = this.#reading.order === 'asc' ? 1 : -1;
    const given = this.#given;
    const ahead = given ? found.filter(({ name, revision }) => sign * compareTo(given, name, revision) > 0) : found;
    return sign === 1 ? ahead : ahead.toReversed();
  }

  async #nextEntries(): Promise<readonly Entry[]> {
    if (this.#kind === undefined) {
      const few = await this.#fewEntries();
      this.#kind = few ? 'few' : 'many';
      if (few) return few;
    }
    return this.#reading.order === 'asc' ? await this.#nextList() : await this.#stretchBefore();
  }

  /** All of them, where they are few. A page after the first one finds some more that came late. */
  async #fewEntries(): Promise<readonly Entry[] | undefined> {
    const all: Entry[] = [];
    for (let list = 0, low = this.#low; list < (this.#end === undefined ? 1 : LISTS_OF_FEW); list += 1) {
      const { entries, isWhole } = await this.#between(low, this.#high);
      all.push(...entries);
      const last = entries.at(-1);
      if (!isWhole && last) {
        low = this.#nameOf(last);
        continue;
      }
      this.#end ??= placeAt(Math.max(0, ...all.map(this.#instantOf)) + 1);
      this.#low = this.#high;
      return all;
    }
    return undefined;
  }

  async #nextList(): Promise<readonly Entry[]> {
    const { entries, isWhole } = await this.#between(this.#low, this.#high);
    const last = entries.at(-1);
    this.#low = isWhole || !last ? this.#high : this.#nameOf(last);
    return entries;
  }

  /** The newest stretch that one list holds. */
  async #stretchBefore(): Promise<readonly Entry[]> {
    if (!this.#isTight) await this.#tighten();
    for (const length of [this.#stretch, ...SHORTER_MS.filter((ms) => ms < this.#stretch)]) {
      const begin = placeAt(instantOfBound(this.#high) - length);
      const low = laterOf(begin, this.#low);
      const { entries, isWhole } = await this.#between(low, this.#high);
      if (!isWhole && length > 1) continue;
      const all = isWhole ? entries : [...entries, ...(await this.#restOf(entries))];
      this.#stretch = all.length < FEW ? length * 4 : length;
      this.#isTight = all.length > 0;
      this.#high = low;
      return all;
    }
    return [];
  }

  readonly #nameOf = (entry: Entry): string => suffixOf(this.#reading.accountId, entry.key);
  readonly #instantOf = (entry: Entry): number => instantIn(this.#nameOf(entry));

  async #between(after: string, before: string) {
    const { reads } = this.#reading;
    const page = await reads.list({ prefix: this.#prefix, after: this.#prefix + after, limit: AT_ONCE });
    const entries = page.entries.filter((entry) => this.#nameOf(entry) < before);
    return { entries, isWhole: page.next === undefined || entries.length < page.entries.length };
  }

  /** The others of a millisecond that one list does not hold. */
  async #restOf(entries: readonly Entry[]): Promise<readonly Entry[]> {
    const rest: Entry[] = [];
    for (let last = entries.at(-1); last;) {
      const more = await this.#between(this.#nameOf(last), this.#high);
      rest.push(...more.entries);
      last = more.isWhole ? undefined : more.entries.at(-1);
    }
    return rest;
  }

  /**
   * Moves the upper bound down to the newest key, by halving: the store tells the first key after a place. Clocks of
   * replicas may be ahead of this one, so that the keys alone say where they end.
   */
  async #tighten(): Promise<void> {
    let low = instantOfBound(this.#low);
    let high = this.#high === LAST ? END_OF_TIME : instantOfBound(this.#high);
    while (high - low > STRETCH_MS) {
      const middle = Math.floor((low + high) / 2);
      const first = await this.#firstFrom(middle);
      if (first === undefined) high = middle;
      else low = first;
    }
    this.#high = earlierOf(this.#high, placeAt(high));
    this.#isTight = true;
  }

  /** The instant of the first key that is not before an instant, up to the upper bound. */
  async #firstFrom(instant: number): Promise<number | undefined> {
    const after = this.#prefix + placeAt(instant);
    const page = await this.#reading.reads.list({ prefix: this.#prefix, after, limit: 1, keysOnly: true });
    const [first] = page.entries;
    return first && this.#nameOf(first) < this.#high ? this.#instantOf(first) : undefined;
  }
}

const laterOf = (a: string, b: string): string => (a > b ? a : b);
const earlierOf = (a: string, b: string): string => (a < b ? a : b);
/** The instant of a part of a key; an entry of that instant may come before it. */
const instantOfBound = (bound: string): number =>
  (Number.parseInt(bound.slice(0, 9), 36) || 0) + (bound.length > 9 ? 1 : 0);
