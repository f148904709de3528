import { MusterError } from './errors.ts';
import type { ReviewEntry } from './generated/operator.ts';
import type { Query } from './options.ts';

/** A page of a list: `after` is the `next` of the page before. */
export interface PageQuery {
  /** 1 to 1000; the service takes 100 without it. */
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

export interface ReviewQuery extends PageQuery {
  /** All without it. */
  readonly status?: ReviewEntry['status'] | undefined;
}

export interface UsageQuery extends PageQuery {
  /** `YYYY-MM`. */
  readonly month: string;
  readonly accountId?: string | undefined;
}

export const pageOf = ({ limit, after }: PageQuery): Query => ({ limit, after });
export const usageOf = ({ month, accountId, limit, after }: UsageQuery): Query => ({ month, accountId, limit, after });

interface Page {
  readonly next?: string | undefined;
}

/**
 * Yields the items of all pages. A page may be empty and still have a next one.
 * @throws MusterError whatever `read` throws; `bad_answer` where a page is followed by one that was read
 */
export async function* itemsOf<P extends Page, Item>(
  read: (after: string | undefined) => Promise<P>,
  items: (page: P) => readonly Item[],
  after?: string,
): AsyncGenerator<Item, void, undefined> {
  const followed = new Set([after]);
  for (let from = after; ;) {
    const page = await read(from);
    yield* items(page);
    if (page.next === undefined) return;
    if (followed.has(page.next))
      throw new MusterError('The pages lead in a circle.', { code: 'bad_answer', status: 200 });
    followed.add(page.next);
    from = page.next;
  }
}
