import { setImmediate as nextTurn } from 'node:timers/promises';
import { StoreUnavailable, type Page, type PageRequest, type Store } from './port.ts';

/** Which page of a list is asked for. */
export interface PageOf {
  /** At most this many items. */
  readonly limit: number;
  /** The `next` of the page before; undefined asks for the first page. */
  readonly after: string | undefined;
}

/** A page of a list; `next` is there when more items follow. */
export interface Listed<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
}

/**
 * Reads pages one after the other, each at the newest revision of the store. Other work of the process runs between
 * them: an embedded store answers at once, and a long listing would block the event loop.
 * @throws StoreUnavailable as `Store.list`; `timeout` once the signal has aborted
 */
export async function* pagesOf(
  store: Pick<Store, 'list'>,
  request: PageRequest,
  signal?: AbortSignal,
): AsyncGenerator<Page, undefined> {
  let after = request.after;
  do {
    if (signal?.aborted === true) throw new StoreUnavailable('timeout', 'The listing took too long.');
    const page = await store.list({ ...request, after });
    yield page;
    after = page.next;
    await nextTurn();
  } while (after !== undefined);
}
