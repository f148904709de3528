import { badAnswer, type Answer } from './answers.ts';
import { MusterError } from './errors.ts';

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

/** A month of usage in another form, with what its headers say. */
export interface UsageText {
  readonly text: string;
  /** Every night of the month that has ended is in it. */
  readonly complete: boolean;
  /** The `after` of the next page; undefined where there is none. */
  readonly next: string | undefined;
}

/** A backup as it comes. The stream ends with a MusterError where it breaks off. */
export interface BackupStream {
  readonly headers: Headers;
  readonly body: ReadableStream<Uint8Array>;
}

/** @throws MusterError `bad_answer` where the answer is of another media type */
export function usageTextOf(answer: Answer, accept: string): UsageText {
  const { headers, text } = answer;
  if (!headers.get('content-type')?.startsWith(accept)) {
    throw badAnswer(`The answer is not ${accept}.`, answer);
  }
  const link = /<([^>]*)>;\s*rel="next"/.exec(headers.get('link') ?? '')?.[1];
  const next = link === undefined ? undefined : (new URL(link, 'http://muster').searchParams.get('after') ?? undefined);
  return { text, complete: headers.get('muster-usage-complete') === 'true', next };
}
