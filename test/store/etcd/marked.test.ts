import { randomUUID } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { StoreIdentity } from '../../../src/domain/replicas/store-identity.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { openEtcdStore } from '../../../src/store/etcd/etcd-store.ts';
import { ABSENT, expectAbsent, type Change, type Store, type StoreUnavailable } from '../../../src/store/port.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const url = inject('etcd');
const OURS = '{"format":1,"storeId":"ours"}';
const create = (key: string): Change => ({ expect: [expectAbsent(key)], write: [{ put: rawKey(key), value: 'v' }] });

interface Opened extends AsyncDisposable {
  /** Depends on the mark. */
  readonly store: Store;
  /** The same keys, without a mark: a person who restores, or another program. */
  readonly other: Store;
  mark(text: string | undefined): Promise<void>;
}

async function opened(): Promise<Opened> {
  const prefix = `${randomUUID()}/`;
  const identity = new StoreIdentity();
  const open = (mark?: StoreIdentity): Promise<Store> =>
    openEtcdStore({ endpoints: [url ?? ''], prefix, deadlineMs: 60_000, mark });
  const [store, other] = await Promise.all([open(identity), open()]);
  const mark = async (text: string | undefined): Promise<void> => {
    const revision = (await other.get('format'))?.revision ?? ABSENT;
    const write = text === undefined ? { remove: rawKey('format') } : { put: rawKey('format'), value: text };
    await other.commit({ expect: [expectRevision('format', revision)], write: [write] });
  };
  await mark(OURS);
  identity.settle('ours', OURS);
  return {
    store,
    other,
    mark,
    async [Symbol.asyncDispose]() {
      await Promise.all([store[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]);
    },
  };
}

const CALLS: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  get: (store) => store.get('k'),
  list: (store) => store.list({ prefix: '', limit: 10 }),
  listAt: (store) => store.listAt({ prefix: '', limit: 10 }, 1_000_000_000),
  head: (store) => store.head(),
  headAt: (store) => store.headAt(1),
  commit: (store) => store.commit(create('written')),
  'a commit that conflicts': (store) => store.commit(create('k')),
  'commits that share a request': (store) => Promise.all(['a', 'b', 'c'].map((key) => store.commit(create(key)))),
  hold: (store) => store.hold(rawKey('held/b'), 'v', 10_000),
  compact: (store) => store.compact(1),
};

const reasonOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'none',
    (error: unknown) => (error as StoreUnavailable).reason,
  );

describe.skipIf(url === undefined)('a store on etcd with a mark', () => {
  test.each([
    ['is gone, as in an etcd that lost its data', undefined],
    ['is that of another store', '{"format":1,"storeId":"theirs"}'],
    ['has no id, as one that an earlier version has made', '{"format":1}'],
    ['is no JSON', 'ours'],
  ])('refuses every call, and writes nothing, where the mark %s', async (_, text) => {
    await using all = await opened();
    const { store, other } = all;
    await other.commit(create('k'));
    const held = await store.hold(rawKey('held/a'), 'v', 10_000);
    if (held === 'taken') throw new Error('taken');
    await all.mark(text);
    const before = await entriesOf(other, '');
    for (const [name, calls] of Object.entries(CALLS)) {
      expect([name, await reasonOf(calls(store))]).toEqual([name, 'replaced']);
    }
    expect(await reasonOf(held.rewrite('w'))).toBe('replaced');
    expect(await entriesOf(other, '')).toEqual(before);
    await all.mark(OURS);
    expect(await store.get('k')).toMatchObject({ value: 'v' });
    expect(await store.commit(create('written'))).toMatchObject({ outcome: 'committed' });
    expect(await held.rewrite('w')).toBe('written');
  });

  test.each(Object.entries(CALLS).filter(([name]) => name !== 'listAt'))(
    'takes over a mark that was written anew for the same store: %s',
    async (_, calls) => {
      await using all = await opened();
      await all.other.commit(create('k'));
      await all.mark('{"format":2,"storeId":"ours"}');
      await calls(all.store);
    },
  );

  test('tells a conflict from another mark', async () => {
    await using all = await opened();
    expect(await all.store.commit(create('k'))).toMatchObject({ outcome: 'committed' });
    expect(await all.store.commit(create('k'))).toEqual({ outcome: 'conflict' });
    const outcomes = await Promise.all(['k', 'l', 'm'].map((key) => all.store.commit(create(key))));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['conflict', 'committed', 'committed']);
  });
});
