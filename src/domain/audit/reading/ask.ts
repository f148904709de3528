import type { Store } from '../../../store/port.ts';
import { placeAt, type AuditRecord, type ChainRecord } from '../../records/audit-records.ts';
import { KEYS } from '../../records/keys.ts';
import { placeOf, SPREAD_MS } from '../following/store-order.ts';
import { readIndex } from '../index/find.ts';
import { readChain } from '../seal.ts';
import { BoundedReads } from './bounded-reads.ts';
import { cursorOf, cursorText, type Cursor, type Spot, type Unsealed } from './cursor.ts';
import { asksForAll, instantIn, type AuditBounds, type AuditOrder, type Reading } from './question.ts';
import { SealedEntries } from './sealed.ts';
import { UnsealedEntries, unsealedFloor } from './unsealed.ts';

/** A page of an audit that is asked for. */
export interface Asked extends AuditBounds {
  readonly order: AuditOrder;
  readonly limit: number;
  /** The `next` of the page before. */
  readonly after?: string | undefined;
}

/** A page of an audit; `next` is there when more entries may follow. */
export interface AskedEntries {
  readonly items: readonly AuditRecord[];
  readonly next: string | undefined;
}

/**
 * Reads a page of what is asked for: `PAGE_RECORDS_MAX` records at most, so that it may be shorter than its limit and
 * have a next one. The order is that of the chain, which is the store's. Where many entries are in no block yet, these
 * are in the order of their keys, which begin with their instants. Nothing that is there when the first page is read is
 * left out, and nothing is given twice.
 * @param charge see `BoundedReads`
 * @throws StoreUnavailable; BadRecord where something that is read is damaged
 */
export async function askAudit(
  store: Pick<Store, 'get' | 'list'>,
  accountId: string,
  { order, limit, after, ...bounds }: Asked,
  charge: () => void = () => undefined,
): Promise<AskedEntries> {
  const reads = new BoundedReads(store, charge);
  const page = new Page({ reads, accountId, order, bounds }, (await readChain(reads, accountId)).record, limit);
  const cursor = after === undefined ? undefined : cursorOf(after);
  const next = order === 'desc' ? await page.newestFirst(cursor) : await page.oldestFirst(cursor);
  return { items: page.items, next: next && cursorText(next) };
}

/** One page as it is read. Each of its parts returns the place of the next page, where the page ends in that part. */
class Page {
  readonly items: AuditRecord[] = [];
  readonly #reading: Reading;
  readonly #chain: ChainRecord;
  readonly #limit: number;
  readonly #prefix: string;

  constructor(reading: Reading, chain: ChainRecord, limit: number) {
    [this.#reading, this.#chain, this.#limit] = [reading, chain, limit];
    this.#prefix = KEYS.audit.under(reading.accountId);
  }

  async newestFirst(cursor: Cursor | undefined): Promise<Cursor | undefined> {
    if (cursor?.spot) return await this.#sealed(cursor.spot);
    const from = this.#unsealedFrom(cursor);
    return (await this.#unsealed(from)) ?? (await this.#sealed({ block: from.number + 1, at: 0 }));
  }

  async oldestFirst(cursor: Cursor | undefined): Promise<Cursor | undefined> {
    if (cursor && !cursor.spot) return await this.#unsealed(this.#unsealedFrom(cursor));
    return (await this.#sealed(cursor?.spot)) ?? (await this.#unsealed(this.#unsealedFrom(undefined)));
  }

  /**
   * An earlier version has ended a page at an entry, and gave all in the order of the store: from there on all is read
   * by keys. Some may come twice, whose instants are near; none is left out. The same holds for a place of before a
   * restore, whose revisions are those of another store.
   */
  #unsealedFrom(cursor: Exclude<Cursor, { readonly spot: Spot }> | undefined): Unsealed {
    const { number, through } = this.#chain;
    if (!cursor) return { number, through };
    const { unsealed, name } = cursor;
    if (unsealed) return unsealed.through > through ? { ...unsealed, through: 0 } : unsealed;
    const near = this.#reading.order === 'asc' ? -SPREAD_MS : SPREAD_MS;
    return { number: 0, through: 0, key: placeAt(instantIn(name) + near) };
  }

  get #isFull(): boolean {
    return this.items.length === this.#limit;
  }

  get #mayReadOn(): boolean {
    return !this.#isFull && !this.#reading.reads.isOver;
  }

  async #sealed(spot: Spot | undefined): Promise<Cursor | undefined> {
    const { reads, accountId, order, bounds } = this.#reading;
    const index = asksForAll(bounds) ? undefined : (await readIndex(reads, accountId)).record;
    const sealed = new SealedEntries(this.#reading, this.#chain, index, spot);
    let given: Spot | undefined;
    while (!sealed.isRead) {
      if (!this.#mayReadOn) return { spot: sealed.spot };
      for (const one of await sealed.next(this.#limit - this.items.length)) {
        if (this.#isFull) return { spot: given ?? sealed.spot };
        this.items.push(one.record);
        given = order === 'desc' ? one.spot : { ...one.spot, at: one.spot.at + 1 };
      }
    }
    return undefined;
  }

  async #unsealed(from: Unsealed): Promise<Cursor | undefined> {
    const { reads, accountId } = this.#reading;
    const given = from.given === undefined ? undefined : await placeOf(reads, this.#prefix, from.given);
    const floor = await unsealedFloor(reads, accountId, from.number);
    const unsealed = new UnsealedEntries(this.#reading, from, floor, given);
    let last: string | undefined;
    while (!unsealed.isRead) {
      if (!this.#mayReadOn) return { unsealed: unsealed.cursor(last) };
      for (const { name, record } of await unsealed.next()) {
        if (this.#isFull) return { unsealed: unsealed.cursor(last) };
        this.items.push(record);
        last = name;
      }
      if (!this.#isFull) last = undefined;
    }
    return undefined;
  }
}
