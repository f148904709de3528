import { expect } from 'vitest';
import { PAGE_ENTRIES_MAX } from '../../../src/store/port.ts';
import type { DeclarePromise } from './harness.ts';
import { everything, keysOf, pagesOf, put, remove, writes } from './harness.ts';

const PRINTABLE_ASCII = Array.from({ length: 0x7f - 0x20 }, (_, index) => String.fromCharCode(0x20 + index));

export function readPromises(promise: DeclarePromise): void {
  promise('a key that was never written has no entry', async ({ store }) => {
    expect(await store.get('t/a')).toBeUndefined();
  });

  promise('an entry has the value and the revision of its last write', async ({ store }) => {
    await writes(store, put('t/a', 'old'));
    const revision = await writes(store, put('t/a', 'new'));
    await writes(store, put('t/b'));
    expect(await store.get('t/a')).toEqual({ key: 't/a', value: 'new', revision });
  });

  promise('a removed key has no entry', async ({ store }) => {
    await writes(store, put('t/a'));
    await writes(store, remove('t/a'));
    expect(await store.get('t/a')).toBeUndefined();
    expect((await store.list({ prefix: 't/', limit: 10 })).entries).toEqual([]);
  });

  promise('keys sort by code unit, over all of printable ASCII', async ({ store }) => {
    const keys = [...PRINTABLE_ASCII, 'aa', 'a/', 'a~', 'A~', '~~'].map((suffix) => `t/${suffix}`);
    await writes(store, ...keys.toReversed().map((key) => put(key)));
    expect(keysOf(await store.list({ prefix: 't/', limit: 1000 }))).toEqual(keys.toSorted());
  });

  promise('a prefix takes in the key equal to it and nothing beside it', async ({ store }) => {
    await writes(
      store,
      ...['t/.', 't/', 't', 't/a', 't/a/b', 't/a~~', 't/b', 't0', 's/~', 'T/a'].map((key) => put(key)),
    );
    expect(keysOf(await store.list({ prefix: 't/a', limit: 10 }))).toEqual(['t/a', 't/a/b', 't/a~~']);
    expect(keysOf(await store.list({ prefix: 't/', limit: 10 }))).toEqual([
      't/',
      't/.',
      't/a',
      't/a/b',
      't/a~~',
      't/b',
    ]);
    expect(keysOf(await store.list({ prefix: 't/c', limit: 10 }))).toEqual([]);
  });

  promise('a prefix ending in the last printable character has bounds too', async ({ store }) => {
    await writes(store, ...['t/}', 't/~', 't/~a', 't/~~', 't0'].map((key) => put(key)));
    expect(keysOf(await store.list({ prefix: 't/~', limit: 10 }))).toEqual(['t/~', 't/~a', 't/~~']);
  });

  promise('a page is bounded, and "next" is its last key exactly when more entries follow', async ({ store }) => {
    const keys = ['t/a', 't/b', 't/c', 't/d'];
    await writes(store, ...keys.map((key) => put(key)), put('u/a'));
    const two = await pagesOf({ prefix: 't/', limit: 2 }, async (request) => store.list(request));
    expect(two.map(({ next }) => next)).toEqual(['t/b', undefined]);
    expect(two.map(keysOf)).toEqual([
      ['t/a', 't/b'],
      ['t/c', 't/d'],
    ]);
    const three = await pagesOf({ prefix: 't/', limit: 3 }, async (request) => store.list(request));
    expect(three.map(keysOf)).toEqual([['t/a', 't/b', 't/c'], ['t/d']]);
    expect(await store.list({ prefix: 't/', limit: 4 })).not.toHaveProperty('next');
    expect(await store.list({ prefix: 'x/', limit: 1 })).not.toHaveProperty('next');
  });

  promise('"after" is exclusive, need not exist, and never widens the prefix', async ({ store }) => {
    await writes(store, ...['s/z', 't/a', 't/c', 'u/a'].map((key) => put(key)));
    const after = async (key: string) => keysOf(await store.list({ prefix: 't/', after: key, limit: 10 }));
    expect(await after('t/a')).toEqual(['t/c']);
    expect(await after('t/b')).toEqual(['t/c']);
    expect(await after('t/c')).toEqual([]);
    expect(await after('a/a')).toEqual(['t/a', 't/c']);
    expect(await after('u/')).toEqual([]);
  });

  promise('a page is read at the newest revision of the store, also one that did not touch it', async ({ store }) => {
    await writes(store, put('t/a'), put('t/b'));
    const first = await store.list({ prefix: 't/', limit: 1 });
    const revision = await writes(store, put('u/a'));
    const second = await store.list({ prefix: 't/', limit: 1, after: 't/a' });
    expect(first.revision).toBeLessThan(revision);
    expect(second.revision).toBeGreaterThanOrEqual(revision);
  });

  promise('a listing of keys only leaves the values out and nothing else', async ({ store }) => {
    const revision = await writes(store, put('t/a', 'secret'), put('t/b', 'secret'));
    const page = await store.list({ prefix: 't/', limit: 10, keysOnly: true });
    expect(page.entries).toEqual([
      { key: 't/a', value: '', revision },
      { key: 't/b', value: '', revision },
    ]);
  });

  promise('the largest page holds PAGE_ENTRIES_MAX entries', async ({ store }) => {
    const keys = Array.from({ length: PAGE_ENTRIES_MAX + 1 }, (_, index) => `t/${String(index).padStart(6, '0')}`);
    for (let start = 0; start < keys.length; start += 100) {
      await writes(store, ...keys.slice(start, start + 100).map((key) => put(key)));
    }
    const page = await store.list({ prefix: 't/', limit: PAGE_ENTRIES_MAX });
    expect(page.entries).toHaveLength(PAGE_ENTRIES_MAX);
    expect(page.next).toBe(keys[PAGE_ENTRIES_MAX - 1]);
    expect((await everything(store, 't/')).map(({ key }) => key)).toEqual(keys);
  });

  promise('a limit outside 1 to PAGE_ENTRIES_MAX is refused', async ({ store }) => {
    const { revision } = await store.list({ prefix: 't/', limit: 1 });
    for (const limit of [0, -1, 1.5, Number.NaN, PAGE_ENTRIES_MAX + 1]) {
      await expect(async () => store.list({ prefix: 't/', limit })).rejects.toThrow(RangeError);
      await expect(async () => store.listAt({ prefix: 't/', limit }, revision)).rejects.toThrow(RangeError);
    }
  });

  promise('values come back as they were: empty, every kind of Unicode, control characters', async ({ store }) => {
    const values = [
      '',
      ' ',
      '\0',
      'a\0b',
      '\r\n\t\u007F',
      'é',
      'e\u0301',
      'ß',
      '\uFEFF',
      '漢字',
      '👩‍👩‍👧',
      '\u{10FFFF}',
      '\uFFFD',
    ];
    const json = JSON.stringify({ loneSurrogate: '\uD800', quote: '"\\' });
    const entries = [...values, json].map((value, index) => ({ key: `t/${String(index).padStart(2, '0')}`, value }));
    await writes(store, ...entries.map(({ key, value }) => put(key, value)));
    const found = await everything(store, 't/');
    expect(found.map(({ key, value }) => ({ key, value }))).toEqual(entries);
  });

  promise('a value of a million characters comes back whole', async ({ store }) => {
    const value = '0123456789'.repeat(100_000);
    await writes(store, put('t/large', value));
    expect((await store.get('t/large'))?.value === value).toBe(true);
  });
}
