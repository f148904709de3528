import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Entry, Page, PageRequest, Store } from '../../../store/port.ts';
import { LIMITS } from '../../limits.ts';

/** Records that one page of an audit reads at most: entries, blocks and pages of its index. */
export const PAGE_RECORDS_MAX = 2000;
/** A step reads no more: one is only begun where so much is left. */
const STEP_RECORDS = 650;

/** The reads of one page, counted. A read that finds nothing counts as one record. */
export class BoundedReads implements Pick<Store, 'get' | 'list'> {
  readonly #store: Pick<Store, 'get' | 'list'>;
  readonly #charge: () => void;
  #left = PAGE_RECORDS_MAX;
  #lists = 0;
  #isCharged = false;

  /** @param charge called once a page has read more than `LIMITS.auditRecordsPerRead`; its error ends the page */
  constructor(store: Pick<Store, 'get' | 'list'>, charge: () => void) {
    this.#store = store;
    this.#charge = charge;
  }

  /** True where no further step may be begun. */
  get isOver(): boolean {
    return this.#left < STEP_RECORDS;
  }

  /** As `Store.get`. @throws StoreUnavailable */
  async get(key: string): Promise<Entry | undefined> {
    this.#count(1);
    return await this.#store.get(key);
  }

  /** As `Store.list`. @throws StoreUnavailable */
  async list(request: PageRequest): Promise<Page> {
    // An embedded store answers at once: other requests run between two pages.
    if (this.#lists > 1) await nextTurn();
    this.#lists += 1;
    const page = await this.#store.list(request);
    this.#count(Math.max(1, page.entries.length));
    return page;
  }

  #count(records: number): void {
    this.#left -= records;
    if (this.#isCharged || PAGE_RECORDS_MAX - this.#left <= LIMITS.auditRecordsPerRead) return;
    this.#isCharged = true;
    this.#charge();
  }
}
