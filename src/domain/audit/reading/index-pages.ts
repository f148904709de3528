import type { AuditIndexPageRecord, AuditIndexRecord } from '../../records/audit-records.ts';
import { KEYS } from '../../records/keys.ts';
import { indexPage } from '../index/find.ts';
import { lastBlockOf } from '../index/page.ts';
import type { BoundedReads } from './bounded-reads.ts';

/** So many pages are read at once at most, after one, two, four: a megabyte or two. */
const AT_ONCE_MAX = 64;

/** Reads the pages of an index one after the other, in batches that grow. */
export class IndexPages {
  readonly #reads: BoundedReads;
  readonly #accountId: string;
  readonly #head: AuditIndexRecord;
  readonly #step: 1 | -1;
  #number: number | undefined;
  #batch = new Map<number, AuditIndexPageRecord | undefined>();
  #atOnce = 1;

  /** @param step the direction in which the blocks are asked for */
  constructor(reads: BoundedReads, accountId: string, head: AuditIndexRecord, step: 1 | -1) {
    [this.#reads, this.#accountId, this.#head, this.#step] = [reads, accountId, head, step];
  }

  /** The page that describes a block; undefined where none does, or it cannot be read. */
  async describing(block: number): Promise<AuditIndexPageRecord | undefined> {
    const { first, last } = this.#head;
    if (block > this.#head.block || first > last) return undefined;
    this.#number ??= await this.#find(block);
    for (; this.#number >= first && this.#number <= last; this.#number += this.#step) {
      const page = await this.#at(this.#number);
      if (page && page.from <= block && block <= lastBlockOf(page)) return page;
      // It lies ahead, beyond blocks that none describes.
      if (page && (this.#step === 1 ? page.from > block : lastBlockOf(page) < block)) return undefined;
    }
    return undefined;
  }

  /** The number of the newest page that begins at a block or before it, or that of the oldest page. */
  async #find(block: number): Promise<number> {
    let [low, high] = [this.#head.first, this.#head.last];
    const isBefore = async (number: number): Promise<boolean> => ((await this.#at(number))?.from ?? 0) <= block;
    // Mostly the reading begins at an end.
    if (this.#step === -1 && (await isBefore(high))) return high;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (await isBefore(middle)) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  async #at(number: number): Promise<AuditIndexPageRecord | undefined> {
    if (!this.#batch.has(number)) await this.#load(number);
    return this.#batch.get(number);
  }

  async #load(number: number): Promise<void> {
    const { first, last } = this.#head;
    const end = number + this.#step * (this.#atOnce - 1);
    const [low, high] = [Math.max(first, Math.min(number, end)), Math.min(last, Math.max(number, end))];
    const { entries } = await this.#reads.list({
      prefix: KEYS.auditIndexPage.under(this.#accountId),
      after: KEYS.auditIndexPage(this.#accountId, low - 1),
      limit: high - low + 1,
    });
    const found = new Map(entries.map((entry) => [String(entry.key), entry]));
    this.#batch = new Map();
    for (let at = low; at <= high; at += 1) {
      const entry = found.get(KEYS.auditIndexPage(this.#accountId, at));
      this.#batch.set(at, indexPage(this.#accountId, at, entry).record);
    }
    // A search jumps; whoever goes through them reads more at once.
    this.#atOnce = this.#number === undefined ? 1 : Math.min(AT_ONCE_MAX, this.#atOnce * 2);
  }
}
