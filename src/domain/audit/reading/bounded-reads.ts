import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Entry, Page, PageRequest, Store } from '../../../store/port.ts';
import { LIMITS } from '../../limits.ts';

/** Records that one page of an audit reads at most: entries and segments, and those that it reads in vain. */
export const PAGE_RECORDS_MAX = 2000;
/** What a step needs at most: a step is only begun where so much is left. */
const STEP_RECORDS = 300;

/** The reads of one page, counted. A read that finds nothing counts as one record. */
export class BoundedReads {
  readonly #store: Pick<Store, 'get' | 'list'>;
  readonly #charge: () => void;
  #left = PAGE_RECORDS_MAX;
  #reads = 0;
  #isCharged = false;

  /** @param charge called once a page has read more than `LIMITS.auditRecordsPerRead`; its error ends the page */
  constructor(store: Pick<Store, 'get' | 'list'>, charge: () => void) {
    this.#store = store;
    this.#charge = charge;
  }

  /** Whether another step may be begun. */
  get isOver(): boolean {
    return this.#left < STEP_RECORDS;
  }

  /** As `Store.get`. @throws StoreUnavailable */
  async get(key: string): Promise<Entry | undefined> {
    this.#begin();
    this.#left -= 1;
    return await this.#store.get(key);
  }

  /** As `Store.list`; a page is no larger than what is left. @throws StoreUnavailable */
  async list(request: PageRequest): Promise<Page> {
    this.#begin();
    // An embedded store answers at once: other requests run between two pages.
    if (this.#reads > 1) await nextTurn();
    const page = await this.#store.list({ ...request, limit: Math.max(1, Math.min(request.limit, this.#left)) });
    this.#left -= Math.max(1, page.entries.length);
    return page;
  }

  #begin(): void {
    this.#reads += 1;
    if (this.#isCharged || PAGE_RECORDS_MAX - this.#left <= LIMITS.auditRecordsPerRead) return;
    this.#isCharged = true;
    this.#charge();
  }
}
