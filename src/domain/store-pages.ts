import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PageRequest, Page, Store } from '../store/port.ts';

/**
 * Pages, one after the other, each as new as the store then is. Between them others have their turn: an embedded store
 * answers at once, and a long listing would stop the process.
 * @throws StoreUnavailable
 */
export async function* pagesOf(store: Store, request: PageRequest): AsyncGenerator<Page, undefined> {
  let after = request.after;
  do {
    const page = await store.list({ ...request, ...(after !== undefined && { after }) });
    yield page;
    after = page.next;
    await nextTurn();
  } while (after !== undefined);
}
