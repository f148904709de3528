import { expect } from 'vitest';
import type { Change, Store } from '../../../src/store/port.ts';
import { COMMIT_OPERATIONS_MAX, HEAD_KEY } from '../../../src/store/port.ts';
import { runs } from '../../support/run/effort.ts';
import type { DeclarePromise } from './harness.ts';
import {
  absent,
  at,
  capability,
  committed,
  everything,
  inParallel,
  keysOf,
  NOTHING_EXPECTED,
  present,
  put,
  remove,
  removeAll,
  writes,
  writing,
} from './harness.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const CONFLICT = { outcome: 'conflict' };

export function commitPromises(promise: DeclarePromise): void {
  expectationPromises(promise);
  effectPromises(promise);
  racePromises(promise);
  refusalPromises(promise);
  lifePromises(promise);
}

function expectationPromises(promise: DeclarePromise): void {
  promise('a key may be created once', async ({ store }) => {
    const create: Change = { expect: [absent('t/a')], write: [put('t/a')] };
    expect(await store.commit(create)).toMatchObject({ outcome: 'committed' });
    expect(await store.commit(create)).toEqual(CONFLICT);
  });

  promise('an update goes through at the revision it relied on, and at no other', async ({ store }) => {
    const first = await writes(store, put('t/a', '1'));
    const second = await committed(store.commit({ expect: [at('t/a', first)], write: [put('t/a', '2')] }));
    expect(await store.commit({ expect: [at('t/a', first)], write: [put('t/a', '3')] })).toEqual(CONFLICT);
    expect(await store.commit({ expect: [at('t/a', second + 1)], write: [put('t/a', '3')] })).toEqual(CONFLICT);
    expect(await present(store, 't/a')).toEqual({ key: 't/a', value: '2', revision: second });
  });

  promise('a key that was removed and created again is not the one relied on', async ({ store }) => {
    const first = await writes(store, put('t/a', 'same'));
    await writes(store, remove('t/a'));
    expect(await store.commit({ expect: [at('t/a', first)], write: [put('t/b')] })).toEqual(CONFLICT);
    await committed(store.commit({ expect: [absent('t/a')], write: [put('t/a', 'same')] }));
    expect(await store.commit({ expect: [at('t/a', first)], write: [put('t/b')] })).toEqual(CONFLICT);
  });

  promise('a key may be relied on without being written, and keeps its revision', async ({ store }) => {
    const revision = await writes(store, put('t/relied'));
    await committed(store.commit({ expect: [at('t/relied', revision), absent('t/gone')], write: [put('t/a')] }));
    expect((await present(store, 't/relied')).revision).toBe(revision);
  });

  promise('one expectation that fails, first or last, fails the commit', async ({ store }) => {
    const revision = await writes(store, put('t/a'));
    const good = at('t/a', revision);
    const bad = absent('t/a');
    expect(await store.commit({ expect: [bad, good], write: [put('t/b')] })).toEqual(CONFLICT);
    expect(await store.commit({ expect: [good, bad], write: [put('t/b')] })).toEqual(CONFLICT);
  });

  promise('a change without writes answers whether its expectations hold', async ({ store }) => {
    const revision = await writes(store, put('t/a'));
    expect(await store.commit({ expect: [at('t/a', revision)], write: [] })).toMatchObject({ outcome: 'committed' });
    expect(await store.commit({ expect: [absent('t/a')], write: [] })).toEqual(CONFLICT);
    expect(await store.commit({ expect: [at('t/a', revision)], write: [], quiet: true })).toMatchObject({
      outcome: 'committed',
    });
  });
}

function effectPromises(promise: DeclarePromise): void {
  promise('a conflict leaves nothing behind', async ({ store }) => {
    await writes(store, put('t/a', 'kept'), put('t/b', 'kept'), put('t/c/1', 'kept'));
    const before = { entries: await everything(store, ''), head: await store.head() };
    const write = [put('t/a', 'lost'), put('t/new', 'lost'), remove('t/b'), removeAll('t/c/')];
    expect(await store.commit({ expect: [absent('t/never'), absent('t/a')], write })).toEqual(CONFLICT);
    expect({ entries: await everything(store, ''), head: await store.head() }).toEqual(before);
  });

  promise('all keys of a commit have its revision', async ({ store }) => {
    await writes(store, put('t/b', 'old'));
    const revision = await writes(store, put('t/a', '1'), put('t/b', '2'), put('u/c', '3'));
    const entries = [...(await everything(store, 't/')), ...(await everything(store, 'u/'))];
    expect(entries).toEqual([
      { key: 't/a', value: '1', revision },
      { key: 't/b', value: '2', revision },
      { key: 'u/c', value: '3', revision },
    ]);
  });

  promise('puts, removals and prefix removals of one commit happen together', async ({ store }) => {
    await writes(store, put('t/a'), put('t/b'), put('t/c'), put('t/c/1'), put('t/c/2'), put('t/c0'));
    const revision = await writes(store, put('t/a', 'new'), remove('t/b'), removeAll('t/c/'), remove('t/absent'));
    expect(await everything(store, 't/')).toEqual([
      { key: 't/a', value: 'new', revision },
      expect.objectContaining({ key: 't/c' }),
      expect.objectContaining({ key: 't/c0' }),
    ]);
  });

  promise('a prefix removal takes the key equal to the prefix, and may be as large as it likes', async ({ store }) => {
    for (let start = 0; start < 1200; start += 120) {
      await writes(store, ...Array.from({ length: 120 }, (_, index) => put(`t/a${start + index}`)));
    }
    await writes(store, put('t/a'), put('t/b'), put('t/'));
    await writes(store, removeAll('t/a'));
    expect(keysOf(await store.list({ prefix: 't/', limit: 10 }))).toEqual(['t/', 't/b']);
  });

  promise('the largest commit goes through, with as many expectations as writes', async ({ store }) => {
    const keys = Array.from({ length: COMMIT_OPERATIONS_MAX }, (_, index) => `t/${String(index).padStart(3, '0')}`);
    const [first = '', ...others] = keys;
    const expectations: Change['expect'] = [absent(first), ...others.map((key) => absent(key))];
    const revision = await committed(store.commit({ expect: expectations, write: keys.map((key) => put(key)) }));
    expect(await everything(store, 't/')).toEqual(keys.map((key) => ({ key, value: 'v', revision })));
  });

  promise('revisions are positive safe integers and grow with every commit', async ({ store }) => {
    let last = 0;
    for (const write of [put('t/a'), put('u/a'), put('t/a'), remove('t/a'), put('t/a'), removeAll('u/')]) {
      const revision = await writes(store, write);
      expect(Number.isSafeInteger(revision)).toBe(true);
      expect(revision).toBeGreaterThan(last);
      last = revision;
    }
  });
}

function racePromises(promise: DeclarePromise): void {
  promise('of many commits racing for one key, exactly one wins each revision', async ({ store }) => {
    let revision = 0;
    for (let round = 0; round < 4; round += 1) {
      const results = await inParallel(runs(100), async (index) =>
        store.commit({ expect: [at('t/a', revision)], write: [put('t/a', `${index}`), put(`u/${round}/${index}`)] }),
      );
      const winners = results.flatMap((result, index) => (result.outcome === 'committed' ? [{ result, index }] : []));
      expect(winners).toHaveLength(1);
      const entry = await present(store, 't/a');
      expect(winners).toEqual([{ result: { outcome: 'committed', revision: entry.revision }, index: +entry.value }]);
      expect(keysOf(await store.list({ prefix: `u/${round}/`, limit: 2 }))).toEqual([`u/${round}/${entry.value}`]);
      revision = entry.revision;
    }
  });

  promise('commits issued together are judged one by one: a conflict fails only itself', async ({ store }) => {
    await writes(store, put('t/taken'));
    const results = await inParallel(60, async (index) => {
      const key = index % 3 === 0 ? 't/taken' : `t/${index}`;
      return store.commit({ expect: [absent(key)], write: [put(key, 'mine')] });
    });
    expect(results.map(({ outcome }) => outcome)).toEqual(
      results.map((_, index) => (index % 3 === 0 ? 'conflict' : 'committed')),
    );
    expect((await present(store, 't/taken')).value).toBe('v');
    expect(await everything(store, 't/')).toHaveLength(41);
  });

  promise('no write skew: of two commits that each rely on what the other writes, one conflicts', async ({ store }) => {
    for (let round = 0; round < runs(8); round += 1) {
      const [a, b] = [`t/${round}/a`, `t/${round}/b`];
      const results = await Promise.all([
        store.commit({ expect: [absent(b)], write: [put(a)] }),
        store.commit({ expect: [absent(a)], write: [put(b)] }),
      ]);
      expect(results.map(({ outcome }) => outcome).toSorted()).toEqual(['committed', 'conflict']);
    }
  });

  promise('no write skew through a prefix removal either', async ({ store }) => {
    for (let round = 0; round < runs(8); round += 1) {
      const range = `t/${round}/`;
      const revision = await writes(store, put(`${range}a`));
      const results = await Promise.all([
        store.commit({ expect: [absent(`u/${round}`)], write: [removeAll(range)] }),
        store.commit({ expect: [at(`${range}a`, revision)], write: [put(`u/${round}`)] }),
      ]);
      expect(results.map(({ outcome }) => outcome).toSorted()).toEqual(['committed', 'conflict']);
    }
  });
}

async function refuses(store: Store, change: Change): Promise<void> {
  const before = { entries: await everything(store, ''), head: await store.head() };
  await expect(async () => store.commit(change)).rejects.toThrow(RangeError);
  expect({ entries: await everything(store, ''), head: await store.head() }).toEqual(before);
}

function refusalPromises(promise: DeclarePromise): void {
  promise('a commit beyond COMMIT_OPERATIONS_MAX is refused before anything happens', async ({ store }) => {
    const keys = Array.from({ length: COMMIT_OPERATIONS_MAX + 1 }, (_, index) => `t/${index}`);
    await refuses(store, writing(...keys.map((key) => put(key))));
    const [first = '', ...others] = keys;
    const expectations: Change['expect'] = [absent(first), ...others.map((key) => absent(key))];
    await refuses(store, { expect: expectations, write: [put('t/a')] });
  });

  promise('a change that touches a key twice is refused', async ({ store }) => {
    await writes(store, put('t/a'));
    await refuses(store, writing(put('t/a', '1'), put('t/a', '2')));
    await refuses(store, writing(put('t/a', '1'), remove('t/a')));
    await refuses(store, writing(remove('t/a'), remove('t/a')));
    await refuses(store, writing(removeAll('t/'), put('t/b')));
    await refuses(store, writing(put('t/b'), removeAll('t/')));
    await refuses(store, writing(removeAll('t/'), remove('t/')));
    await refuses(store, writing(removeAll('t/'), removeAll('t/')));
    await refuses(store, writing(removeAll('t/a'), removeAll('t/')));
  });

  promise('a change may not write head itself, nor remove it', async ({ store }) => {
    await writes(store, put('t/a'));
    await refuses(store, writing(put(HEAD_KEY, 'mine')));
    await refuses(store, writing(remove(HEAD_KEY)));
    await refuses(store, { ...writing(removeAll('d/')), quiet: true });
    await refuses(store, writing(removeAll('')));
  });
}

function lifePromises(promise: DeclarePromise): void {
  promise('what was committed is there after a reopening, and revisions go on growing', async (under) => {
    const { store } = under;
    const kept = await writes(store, put('t/a', 'kept'));
    const highest = await writes(store, put('t/highest'));
    const last = await committed(
      store.commit({ expect: [at('t/highest', highest)], write: [remove('t/highest')], quiet: true }),
    );
    const head = await store.head();
    const reopened = await capability(under.reopen, 'reopen')();
    expect(await everything(reopened, 't/')).toEqual([{ key: 't/a', value: 'kept', revision: kept }]);
    expect(await reopened.head()).toEqual(head);
    expect(await writes(reopened, put('t/b'))).toBeGreaterThan(last);
  });

  promise('what one handle committed, another sees at once', async (under) => {
    const other = await capability(under.again, 'again')();
    const revision = await writes(under.store, put('t/a', '1'));
    expect(await other.get('t/a')).toEqual({ key: 't/a', value: '1', revision });
    expect(await other.head()).toEqual(await under.store.head());
    await committed(other.commit({ expect: [at('t/a', revision)], write: [put('t/a', '2')] }));
    expect(await under.store.commit({ expect: [at('t/a', revision)], write: [remove('t/a')] })).toEqual(CONFLICT);
  });

  promise('a commit under way ends before the store does; later calls are refused as closed', async ({ store }) => {
    const pending = store.commit(writing(put('t/a')));
    await store[Symbol.asyncDispose]();
    expect(await pending).toMatchObject({ outcome: 'committed' });
    const closed = { name: 'StoreUnavailable', reason: 'closed' };
    await expect(store.get('t/a')).rejects.toMatchObject(closed);
    await expect(store.list({ prefix: 't/', limit: 1 })).rejects.toMatchObject(closed);
    await expect(store.head()).rejects.toMatchObject(closed);
    await expect(store.headAt(1)).rejects.toMatchObject(closed);
    await expect(store.compact(1)).rejects.toMatchObject(closed);
    await expect(store.hold(rawKey('t/b'), 'v', 1000)).rejects.toMatchObject(closed);
    await expect(store.commit({ expect: [NOTHING_EXPECTED], write: [] })).rejects.toMatchObject(closed);
    await store[Symbol.asyncDispose]();
  });
}
