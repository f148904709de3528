import { expect } from 'vitest';
import { instantOf } from '../../../src/store/head-value.ts';
import { HEAD_KEY } from '../../../src/store/port.ts';
import type { DeclarePromise } from './harness.ts';
import { committed, inParallel, present, put, writes, writing } from './harness.ts';

export function headPromises(promise: DeclarePromise): void {
  promise('a store that was never committed to has no head', async ({ store }) => {
    expect(await store.head()).toEqual({ revision: 0, epochId: '' });
  });

  promise('head is the revision of the last commit that was not quiet', async ({ store }) => {
    const loud = await writes(store, put('t/a'));
    expect((await store.head()).revision).toBe(loud);
    const head = await store.head();
    const quiet = await committed(store.commit({ ...writing(put('t/b')), quiet: true }));
    expect(quiet).toBeGreaterThan(loud);
    expect(await store.head()).toEqual(head);
    const empty = await writes(store);
    expect((await store.head()).revision).toBe(empty);
  });

  promise('a quiet commit alone leaves a store without head', async ({ store }) => {
    await committed(store.commit({ ...writing(put('t/a')), quiet: true }));
    expect(await store.head()).toEqual({ revision: 0, epochId: '' });
  });

  promise(
    'quiet commits issued together leave head alone, and one among them that is not moves it',
    async ({ store }) => {
      await writes(store, put('t/a'));
      const head = await store.head();
      const quiet = async (key: string) => committed(store.commit({ ...writing(put(key)), quiet: true }));
      await inParallel(20, async (index) => quiet(`t/${index}`));
      expect(await store.head()).toEqual(head);
      const [loud] = await Promise.all([
        writes(store, put('t/loud')),
        inParallel(20, async (index) => quiet(`u/${index}`)),
      ]);
      expect((await store.head()).revision).toBe(loud);
    },
  );

  promise('the epoch id is 64 random bits, fresh with every commit that is not quiet', async ({ store }) => {
    const epochIds = new Set<string>();
    for (let index = 0; index < 20; index += 1) {
      await writes(store, put('t/a'));
      const { epochId } = await store.head();
      expect(epochId).toMatch(/^[0-9a-f]{16}$/);
      epochIds.add(epochId);
    }
    expect(epochIds.size).toBe(20);
  });

  promise('head tells the newest instant of the commits that moved it, and none of a quiet one', async ({ store }) => {
    const at = (instant: number, key: string) => committed(store.commit({ ...writing(put(key)), at: instant }));
    const told = async () => instantOf((await store.head()).epochId);
    await at(1_800_000_000_000, 't/a');
    expect(await told()).toBe(1_800_000_000_000);
    await committed(store.commit({ ...writing(put('t/b')), at: 1_900_000_000_000, quiet: true }));
    expect(await told()).toBe(1_800_000_000_000);
    await at(1_700_000_000_000, 't/c');
    expect((await store.head()).epochId).toMatch(/^[0-9a-f]{16}\.[0-9a-z]+$/);
    await writes(store, put('t/d'));
    expect(await told()).toBe(0);
  });

  promise('head lies at its key as an ordinary entry', async ({ store }) => {
    await writes(store, put('d/a'));
    const { revision, epochId } = await store.head();
    expect(await present(store, HEAD_KEY)).toEqual({ key: HEAD_KEY, value: epochId, revision });
    const listed = await store.list({ prefix: HEAD_KEY, limit: 2 });
    expect(listed.entries).toEqual([{ key: HEAD_KEY, value: epochId, revision }]);
  });

  promise('after commits issued together, head is at the newest of them', async ({ store }) => {
    const revisions = await inParallel(50, async (index) => writes(store, put(`t/${index}`)));
    expect((await store.head()).revision).toBe(Math.max(...revisions));
  });

  promise('head may be asked for as it was at a revision', async ({ store }) => {
    const heads = [];
    for (let index = 0; index < 5; index += 1) {
      await writes(store, put('t/a'));
      heads.push(await store.head());
    }
    const quiet = await committed(store.commit({ ...writing(put('t/b')), quiet: true }));
    for (const head of heads) expect(await store.headAt(head.revision)).toEqual(head);
    expect(await store.headAt(quiet)).toEqual(heads.at(-1));
    expect(await store.headAt(quiet + 1_000_000)).toBe('future');
  });

  promise('head at the revision of each of many commits issued together is at that revision', async ({ store }) => {
    const revisions = await inParallel(50, async (index) => writes(store, put(`t/${index}`)));
    for (const revision of revisions) expect(await store.headAt(revision)).toMatchObject({ revision });
    const newest = Math.max(...revisions);
    expect(await store.headAt(newest)).toEqual(await store.head());
  });

  promise('head of before a compaction is compacted, head of after it is not', async ({ store }) => {
    const first = await writes(store, put('t/a'));
    const second = await writes(store, put('t/a'));
    const head = await store.head();
    await store.compact(second);
    expect(await store.headAt(first)).toBe('compacted');
    expect(await store.headAt(second)).toEqual(head);
  });
}
