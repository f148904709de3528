import { pagesOf } from '../../store/pages.ts';
import type { Entry, Store } from '../../store/port.ts';
import { type ChainRecord, type SealRecord, instantOf } from '../records/audit-records.ts';
import { KEYS } from '../records/keys.ts';
import { parseRecord } from '../records/codec.ts';
import { blockDigest, emptyChain, newestOf } from './chain.ts';
import type { FaultList } from './faults.ts';
import { isIn, type Window } from './verify-window.ts';

/** A block has 17 KB, and the blocks of one page are parsed and digested in one turn of the event loop. */
const BLOCKS_PER_PAGE = 10;
/** Clocks of replicas differ, and a commit may come late; an entry that claims to be older by more is backdated. */
const BACKDATED_MS = 600_000;

/** Compares the blocks of one account with each window of its entries. The chain itself is judged the first time. */
export class BlockWalk {
  /** How many blocks of the chain exist. */
  count = 0;
  /** No block is missing or changed: only then is an entry in no block known to be added. */
  isWhole = true;
  readonly through: number;
  readonly #store: Store;
  readonly #accountId: string;
  readonly #chain: ChainRecord;
  readonly #faults: FaultList;
  #judged = false;
  /**
   * Entries of later blocks were written at this instant or later, if the clocks of the entries and the leader agree.
   */
  #floor = 0;

  constructor(store: Store, accountId: string, chain: ChainRecord | undefined, faults: FaultList) {
    this.#store = store;
    this.#accountId = accountId;
    this.#chain = chain ?? emptyChain(accountId);
    this.#faults = faults;
    this.through = this.#chain.through;
  }

  /** Compares all blocks with a window. @throws StoreUnavailable */
  async compare(window: Window, signal?: AbortSignal): Promise<void> {
    const links = new Links(this.#accountId, this.#chain, this.#judged ? undefined : this.#faults);
    this.#floor = 0;
    const prefix = KEYS.seal.under(this.#accountId);
    for await (const { entries } of pagesOf(this.#store, { prefix, limit: BLOCKS_PER_PAGE }, signal)) {
      for (const entry of entries) {
        const number = Number(entry.key.slice(prefix.length));
        const block = blockOf(entry, number);
        if (links.add(number, block) && block) this.#entries(block, window);
      }
    }
    links.end(await this.#headNumberNow(links.newest));
    if (this.#judged) return;
    this.#judged = true;
    this.count = links.count;
    this.isWhole = links.isWhole;
  }

  /** Reads the head's number again if needed: blocks that were sealed meanwhile are left to the next verification. */
  async #headNumberNow(newest: number): Promise<number> {
    if (newest <= this.#chain.number) return this.#chain.number;
    const entry = await this.#store.get(KEYS.chain(this.#accountId));
    try {
      return entry ? parseRecord(KEYS.chain, entry).record.number : 0;
    } catch {
      return 0;
    }
  }

  #entries(block: SealRecord, window: Window): void {
    const { base, cutting } = this.#chain;
    const isBeingCut = cutting && block.number === base.number;
    const isTrue = blockDigest(block) === block.digest;
    for (const [suffix, digest] of block.entries) {
      if (!isIn(window, suffix)) continue;
      const stored = window.stored.get(suffix);
      if (stored) stored.sealed = true;
      // The lines of a changed block prove nothing.
      if (isBeingCut || !isTrue) continue;
      if (!stored) this.#faults.entry('removed', suffix, block.number, 'it was sealed and is no longer there');
      else if (stored.digest !== digest) {
        this.#faults.entry('changed', suffix, block.number, 'its text is not the one that was sealed');
      }
      this.checkInstant(suffix, block.number);
    }
    if (isTrue) this.#floor = Math.max(this.#floor, Math.min(newestOf(block), block.at));
  }

  /** Judges the instant of an entry that came into the store after the blocks that were read so far. */
  checkInstant(suffix: string, number: number | undefined): void {
    const at = instantOf(suffix);
    if (Number.isNaN(at)) this.#faults.entry('added', suffix, number, 'its key is not one that the service makes');
    else if (at < this.#floor - BACKDATED_MS) {
      const says = 'it came into the store more than ten minutes after the instant that it claims';
      this.#faults.entry('backdated', suffix, number, says);
    }
  }
}

/** The block that is stored under a number; undefined where it cannot be read. */
function blockOf(entry: Entry, number: number): SealRecord | undefined {
  try {
    const { record } = parseRecord(KEYS.seal, entry);
    return record.number === number ? record : undefined;
  } catch {
    return undefined;
  }
}

/** Checks that each block follows the one before it, from the base of the chain to its head. */
class Links {
  count = 0;
  isWhole = true;
  newest = 0;
  readonly #chain: ChainRecord;
  readonly #faults: FaultList | undefined;
  readonly #first: number;
  #next: number;
  /** The digest that the next block must name; undefined after a fault, so that a fault is reported once. */
  #previous: string | undefined;

  constructor(accountId: string, chain: ChainRecord, faults: FaultList | undefined) {
    this.#chain = chain;
    this.#faults = faults;
    this.#first = chain.base.number + (chain.cutting ? 0 : 1);
    this.#next = this.#first;
    this.#previous = chain.cutting ? undefined : chain.base.digest;
    if (chain.base.number === 0 && chain.base.digest !== emptyChain(accountId).digest) {
      this.#broken(1, 'the chain does not begin as an empty one of this account');
    }
  }

  /** Takes the next block. @returns whether its number belongs to the chain */
  add(number: number, block: SealRecord | undefined): boolean {
    this.newest = Math.max(this.newest, number);
    if (number > this.#chain.number) return false;
    if (!(number >= this.#first)) {
      this.#broken(number, 'a block from before the beginning of the chain');
      return false;
    }
    this.#missingBefore(number);
    this.#next = number + 1;
    if (number > this.#chain.base.number) this.count += 1;
    this.#follow(number, block);
    return true;
  }

  #follow(number: number, block: SealRecord | undefined): void {
    const isBase = number === this.#chain.base.number;
    if (!block || blockDigest(block) !== block.digest) {
      return this.#broken(number, block ? 'the block was changed' : 'the block cannot be read');
    }
    if (this.#previous !== undefined && block.previous !== this.#previous) {
      this.#broken(number, 'the block and the one before it do not follow each other');
    } else if (isBase && block.digest !== this.#chain.base.digest) {
      this.#broken(number, 'the block is not the one that the head has as the beginning');
    }
    this.#previous = block.digest;
  }

  /** Checks the end of the chain. @param headNumber the newest block that the head names by now */
  end(headNumber: number): void {
    const { number, digest } = this.#chain;
    if (this.newest > headNumber) this.#broken(headNumber + 1, 'a block beyond the head of the chain');
    this.#missingBefore(number + 1);
    if (this.#previous !== undefined && this.#previous !== digest) {
      this.#broken(number, 'the head of the chain names another digest than its newest block has');
    }
  }

  #missingBefore(number: number): void {
    if (this.#next >= number) return;
    const last = number - 1;
    this.#broken(this.#next, this.#next === last ? 'the block is missing' : `the blocks up to ${last} are missing`);
    this.#next = number;
  }

  #broken(number: number, says: string): void {
    this.isWhole = false;
    this.#previous = undefined;
    this.#faults?.chain(number, says);
  }
}
