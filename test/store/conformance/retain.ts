import { expect } from 'vitest';
import type { Store } from '../../../src/store/port.ts';
import type { DeclarePromise } from './harness.ts';
import { pageOf, put, writes } from './harness.ts';

/** Three writes of one key. */
async function threeRevisions(store: Store): Promise<[number, number, number]> {
  return [
    await writes(store, put('t/a', '1')),
    await writes(store, put('t/a', '2')),
    await writes(store, put('t/a', '3')),
  ];
}

/** The value of the key in a listing at the revision. */
async function valueAt(store: Store, revision: number): Promise<string | undefined> {
  const page = await store.listAt({ prefix: 't/', limit: 10 }, revision);
  return page === 'compacted' ? page : pageOf(page).entries[0]?.value;
}

export function retainPromises(promise: DeclarePromise): void {
  promise('a compaction answers which revision it went to', async ({ store }) => {
    const [, second, third] = await threeRevisions(store);
    expect([await store.compact(second), await store.compact(third)]).toEqual([second, third]);
    expect(await valueAt(store, second)).toBe('compacted');
  });

  promise('a compaction goes no further than what is retained, and says so', async ({ store }) => {
    const [first, second, third] = await threeRevisions(store);
    using _ = store.retain(second);
    expect(await store.compact(third)).toBe(second);
    expect(await store.compact(third)).toBe(second);
    expect(await Promise.all([first, second, third].map(async (revision) => valueAt(store, revision)))).toEqual([
      'compacted',
      '2',
      '3',
    ]);
  });

  promise('what is retained ends with its disposal, each for itself', async ({ store }) => {
    const [first, second, third] = await threeRevisions(store);
    const [older, newer, newerToo] = [store.retain(first), store.retain(second), store.retain(second)];
    expect(await store.compact(third)).toBe(first);
    older[Symbol.dispose]();
    older[Symbol.dispose]();
    newer[Symbol.dispose]();
    newer[Symbol.dispose]();
    expect(await store.compact(third)).toBe(second);
    expect([await valueAt(store, first), await valueAt(store, second)]).toEqual(['compacted', '2']);
    newerToo[Symbol.dispose]();
    expect(await store.compact(third)).toBe(third);
    expect(await valueAt(store, second)).toBe('compacted');
  });

  promise('what is retained later than a compaction goes does not hold it up', async ({ store }) => {
    const [first, second, third] = await threeRevisions(store);
    using _ = store.retain(third);
    store.retain(second);
    expect(await store.compact(second)).toBe(second);
    expect(await valueAt(store, first)).toBe('compacted');
  });
}
