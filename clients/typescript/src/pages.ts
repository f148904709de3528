import { MusterError } from './errors.ts';

interface Page {
  readonly next?: string | undefined;
}

/**
 * Yields the items of all pages. A page may be empty and still have a next one.
 * @throws MusterError whatever `read` throws; `bad_answer` where a page is followed by itself
 */
export async function* itemsOf<P extends Page, Item>(
  read: (after: string | undefined) => Promise<P>,
  items: (page: P) => readonly Item[],
  after?: string,
): AsyncGenerator<Item, void, undefined> {
  for (let from = after; ;) {
    const page = await read(from);
    yield* items(page);
    if (page.next === undefined) return;
    if (page.next === from) throw new MusterError('A page is followed by itself.', { code: 'bad_answer', status: 200 });
    from = page.next;
  }
}
