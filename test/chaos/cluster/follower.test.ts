import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { openStore } from '../../../src/service/open-store.ts';
import { expectAbsent, expectAsFound, type Store } from '../../../src/store/port.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { until } from '../../support/time/until.ts';
import { invalidities } from '../judgement/validity.ts';
import { Follower } from './follower.ts';
import { rawKey } from '../../support/store/raw-key.ts';

/* The watch that every revision is judged by: what it did not see, it says. */

const opened = (): Promise<Store> => openStore({ kind: 'sqlite', path: ':memory:' });
const account = (n: number): string => KEYS.account(`account${n}`);

async function write(store: Store, n: number): Promise<number> {
  const key = account(n);
  const done = await store.commit({ expect: [expectAbsent(key)], write: [{ put: rawKey(key), value: '{}' }] });
  return done.outcome === 'committed' ? done.revision : -1;
}

const deaf = (store: Store): Store =>
  wrappedStore(store, {
    watch: (prefix, from, listener) =>
      store.watch(prefix, from, {
        onOpen: () => listener.onOpen(),
        onBatch: () => undefined,
        onEnd: (reason) => listener.onEnd(reason),
      }),
  });

/** Its first watch hears nothing, and then that the history is gone. */
function compactedOnce(store: Store, when: Promise<unknown>): Store {
  let isFirst = true;
  return wrappedStore(store, {
    watch(prefix, from, listener) {
      if (!isFirst) return store.watch(prefix, from, listener);
      isFirst = false;
      void when.then(() => listener.onEnd('compacted'));
      return { close: () => undefined };
    },
  });
}

test('each revision once, through however many members it comes, and while one of them is silent', async () => {
  await using store = await opened();
  await using follower = await Follower.start([store, deaf(store), store]);
  const revisions: number[] = [];
  for (let n = 0; n < 20; n += 1) revisions.push(await write(store, n));
  await follower.reach(revisions.at(-1) ?? 0);
  expect(follower.written.map(({ revision }) => revision)).toEqual(revisions);
  expect(follower.written.flatMap(({ touched }) => touched)).toEqual(revisions.map((_, n) => account(n)));
  expect(follower.missed).toBe(0);
});

test('a revision that was compacted before it was read is missed, and makes the run invalid', async () => {
  await using store = await opened();
  const compaction = Promise.withResolvers<void>();
  await using follower = await Follower.start([compactedOnce(store, compaction.promise)]);
  const unseen = await write(store, 0);
  compaction.resolve();
  await follower.reach(unseen);
  const seen = await write(store, 1);
  await follower.reach(seen);
  expect(follower.written.map(({ revision }) => revision)).toEqual([seen]);
  expect(follower.missed).toBe(1);
  const nothing = { calls: [], marks: [], stalls: [], markerOf: new Map<string, string>() };
  expect(invalidities(nothing, follower.missed).join()).toContain('1 revisions');
});

test('a revision that is compacted on one member alone is not missed', async () => {
  await using store = await opened();
  await using follower = await Follower.start([store, compactedOnce(store, Promise.resolve())]);
  const revisions = [await write(store, 0), await write(store, 1)];
  await until(() => follower.written.length === 2);
  expect(follower.written.map(({ revision }) => revision)).toEqual(revisions);
  expect(follower.missed).toBe(0);
});

test('a binding that becomes final is no mutation; any other change of the app is', async () => {
  await using store = await opened();
  await using follower = await Follower.start([store]);
  const key = KEYS.app('account', 'app');
  const put = async (value: object): Promise<number> => {
    const done = await store.commit({
      expect: [expectAsFound(key, await store.get(key))],
      write: [{ put: key, value: JSON.stringify(value) }],
    });
    return done.outcome === 'committed' ? done.revision : -1;
  };
  const enrolled = { at: 1, platform: 'linux' };
  const told = [
    await put({ status: 'active', enrolled: { ...enrolled, provisional: true } }),
    await put({ status: 'active', enrolled }).then(() => undefined),
    await put({ status: 'active', enrolled: { ...enrolled, provisional: true } }),
    await put({ status: 'revoked', enrolled }),
  ].filter((revision) => revision !== undefined);
  await follower.reach(told.at(-1) ?? 0);
  expect(follower.written.map(({ revision }) => revision)).toEqual(told);
});
