/** The harness for the tests of the promises: a store to try, its capabilities, and small shorthands. */
import { expect, test } from 'vitest';
import { expectRevision } from '../../../src/store/entry.ts';
import {
  expectAbsent,
  type Change,
  type CommitResult,
  type Entry,
  type Expectation,
  type Page,
  type PageRequest,
  type Store,
  type Write,
} from '../../../src/store/port.ts';
import { rawKey, rawPrefix } from '../../support/store/raw-key.ts';

/** An empty store, and what a test may do to it. A capability that is missing must be excused in `Unkept`. */
export interface StoreUnderTest extends AsyncDisposable {
  readonly store: Store;
  /** Disposes of `store` as a clean stop would, and opens the same data again. */
  readonly reopen?: () => Promise<Store>;
  /** Cuts every open watch stream of `store`, as a broken connection would. */
  readonly sever?: () => void;
  /** A second handle on the same data while the first one is open; disposed of with the rest. */
  readonly again?: () => Promise<Store>;
}

export type OpenStore = () => Promise<StoreUnderTest>;

/** The sentence of a promise → why this back-end cannot keep it. */
export type Unkept = Readonly<Record<string, string>>;

export type DeclarePromise = (sentence: string, keep: (under: StoreUnderTest) => Promise<void>) => void;

interface Harness {
  readonly promise: DeclarePromise;
  /** Declared last: an excuse for a sentence that no longer exists would hide nothing and mislead. */
  readonly everyExceptionIsAPromise: () => void;
}

export function harness(openStore: OpenStore, unkept: Unkept): Harness {
  const sentences = new Set<string>();
  return {
    promise(sentence, keep) {
      sentences.add(sentence);
      const excuse = unkept[sentence];
      test(excuse === undefined ? sentence : `${sentence} [not kept: ${excuse}]`, async ({ skip }) => {
        skip(excuse !== undefined, excuse);
        await using under = await openStore();
        await keep(under);
      });
    },
    everyExceptionIsAPromise() {
      test('every exception names a promise', () => {
        expect(Object.keys(unkept).filter((sentence) => !sentences.has(sentence))).toEqual([]);
      });
    },
  };
}

/** The capability, or a failure that says how to excuse its absence. */
export function capability<T>(found: T | undefined, name: string): T {
  if (found === undefined) throw new Error(`the store under test has no ${name}; excuse this promise in "unkept"`);
  return found;
}

export const put = (key: string, value = 'v'): Write => ({ put: rawKey(key), value });
export const remove = (key: string): Write => ({ remove: rawKey(key) });
export const removeAll = (prefix: string): Write => ({ removeAll: rawPrefix(prefix) });
export const absent = (key: string): Expectation => expectAbsent(key);
export const at = (key: string, revision: number): Expectation => expectRevision(key, revision);

/** An expectation that always holds, for tests that are about something else. */
export const NOTHING_EXPECTED = absent('t/never');

export const writing = (...write: Write[]): Change => ({ expect: [NOTHING_EXPECTED], write });

/** The revision of a commit that has to succeed. */
export async function committed(result: Promise<CommitResult>): Promise<number> {
  const settled = await result;
  if (settled.outcome !== 'committed') throw new Error('expected the commit to succeed; it conflicted');
  return settled.revision;
}

export async function writes(store: Store, ...write: Write[]): Promise<number> {
  return committed(store.commit(writing(...write)));
}

export async function present(store: Store, key: string): Promise<Entry> {
  const entry = await store.get(key);
  if (entry === undefined) throw new Error(`expected ${key} to be there`);
  return entry;
}

export const keysOf = (page: Page): string[] => page.entries.map(({ key }) => key);

/** The page, where `compacted` would be a failure. */
export function pageOf(listed: Page | 'compacted'): Page {
  if (listed === 'compacted') throw new Error('expected a page; the history was compacted');
  return listed;
}

/** Every page from the first to the last; `between` runs after each page but the last. */
export async function pagesOf(
  request: PageRequest,
  list: (request: PageRequest) => Promise<Page | 'compacted'>,
  between: (page: Page) => Promise<void> = async () => {},
): Promise<Page[]> {
  const pages: Page[] = [];
  let page = pageOf(await list(request));
  pages.push(page);
  while (page.next !== undefined) {
    await between(page);
    page = pageOf(await list({ ...request, after: page.next }));
    pages.push(page);
  }
  return pages;
}

/** The whole content under a prefix, whatever its size. */
export async function everything(store: Store, prefix: string): Promise<Entry[]> {
  const pages = await pagesOf({ prefix, limit: 1000 }, async (request) => store.list(request));
  return pages.flatMap((page) => page.entries);
}

export async function inParallel<T>(count: number, run: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, async (_, index) => run(index)));
}
