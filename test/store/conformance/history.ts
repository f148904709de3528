import { expect } from 'vitest';
import type { Entry, PageRequest } from '../../../src/store/port.ts';
import type { DeclarePromise } from './harness.ts';
import { everything, keysOf, pageOf, pagesOf, put, remove, removeAll, writes } from './harness.ts';

const ALL: PageRequest = { prefix: 't/', limit: 1000 };

export function historyPromises(promise: DeclarePromise): void {
  promise('a listing pinned to a revision shows every entry as it was', async ({ store }) => {
    await writes(store, put('t/changed', 'old'), put('t/removed', 'old'), put('t/ranged/1', 'old'), put('t/same'));
    const then = await everything(store, 't/');
    const { revision } = await store.list(ALL);
    await writes(store, put('t/changed', 'new'), remove('t/removed'), removeAll('t/ranged/'), put('t/created'));
    await writes(store, put('t/removed', 'again'), put('t/ranged/2'), remove('t/created'));
    const page = pageOf(await store.listAt(ALL, revision));
    expect(page).toEqual({ entries: then, revision });
    const keysOnly = pageOf(await store.listAt({ ...ALL, keysOnly: true }, revision));
    expect(keysOnly.entries).toEqual(then.map(({ key, revision }) => ({ key, value: '', revision })));
  });

  promise('a listing pinned to the newest revision equals the plain one', async ({ store }) => {
    const revision = await writes(store, put('t/a'), put('t/b'));
    expect(pageOf(await store.listAt(ALL, revision))).toEqual({
      entries: [
        { key: 't/a', value: 'v', revision },
        { key: 't/b', value: 'v', revision },
      ],
      revision,
    });
  });

  promise('each of many past revisions can be listed', async ({ store }) => {
    const states: { revision: number; entries: Entry[] }[] = [];
    for (let index = 0; index < 30; index += 1) {
      const write = index % 4 === 3 ? remove(`t/${(index * 7) % 5}`) : put(`t/${(index * 3) % 5}`, `${index}`);
      const revision = await writes(store, write);
      states.push({ revision, entries: await everything(store, 't/') });
    }
    for (const { revision, entries } of states) {
      expect(pageOf(await store.listAt(ALL, revision)).entries).toEqual(entries);
    }
  });

  promise('pages of a pinned listing fit together while writers go on between them', async ({ store }) => {
    const keys = Array.from({ length: 60 }, (_, index) => `t/${String(index).padStart(2, '0')}`);
    await writes(store, ...keys.map((key) => put(key, 'old')));
    const then = await everything(store, 't/');
    const { revision } = await store.list(ALL);
    let round = 0;
    const disturb = async (): Promise<void> => {
      round += 1;
      await writes(store, put(`t/${round}x`), remove(`t/${String(round * 5).padStart(2, '0')}`));
      await writes(store, removeAll(`t/${5 - (round % 6)}`));
      await writes(store, put(`t/${String((round * 7) % 60).padStart(2, '0')}`, 'again'));
    };
    const pinned = await pagesOf({ ...ALL, limit: 7 }, async (request) => store.listAt(request, revision), disturb);
    expect(round).toBe(8);
    expect(new Set(pinned.map((page) => page.revision))).toEqual(new Set([revision]));
    expect(pinned.flatMap(({ entries }) => entries)).toEqual(then);
    expect(pinned.slice(0, -1).map(({ entries }) => entries.length)).toEqual(pinned.slice(0, -1).map(() => 7));
  });

  promise('a page pinned to a revision is bounded by entries of that revision', async ({ store }) => {
    const revision = await writes(store, put('t/b'), put('t/d'));
    await writes(store, remove('t/b'), put('t/a'), put('t/c'), put('t/e'));
    const page = pageOf(await store.listAt({ prefix: 't/', limit: 1 }, revision));
    expect([keysOf(page), page.next]).toEqual([['t/b'], 't/b']);
    const last = pageOf(await store.listAt({ prefix: 't/', limit: 1, after: 't/b' }, revision));
    expect([keysOf(last), last.next]).toEqual([['t/d'], undefined]);
  });

  promise('history older than a compaction is compacted, the rest is not', async ({ store }) => {
    const first = await writes(store, put('t/a', '1'));
    const second = await writes(store, put('t/a', '2'));
    const third = await writes(store, put('t/a', '3'));
    await store.compact(second);
    expect(await store.listAt(ALL, first)).toBe('compacted');
    const valueAt = async (revision: number) => pageOf(await store.listAt(ALL, revision)).entries[0]?.value;
    expect([await valueAt(second), await valueAt(third)]).toEqual(['2', '3']);
    expect((await store.get('t/a'))?.value).toBe('3');
  });

  promise('a listing that a compaction overtakes says so in the middle', async ({ store }) => {
    const revision = await writes(store, put('t/a'), put('t/b'));
    const page = pageOf(await store.listAt({ ...ALL, limit: 1 }, revision));
    await store.compact(await writes(store, put('t/c')));
    expect(await store.listAt({ ...ALL, limit: 1, after: page.next ?? '' }, revision)).toBe('compacted');
  });

  promise('compacting again, to the same or an older revision, is harmless', async ({ store }) => {
    const first = await writes(store, put('t/a'));
    const second = await writes(store, put('t/a', 'kept'));
    await store.compact(second);
    await store.compact(second);
    await store.compact(first);
    expect(await store.listAt(ALL, first)).toBe('compacted');
    expect(pageOf(await store.listAt(ALL, second)).entries[0]?.value).toBe('kept');
  });

  promise('writes go on after a compaction', async ({ store }) => {
    await store.compact(await writes(store, put('t/a')));
    const revision = await writes(store, put('t/a', 'after'));
    expect(await store.get('t/a')).toEqual({ key: 't/a', value: 'after', revision });
  });
}
