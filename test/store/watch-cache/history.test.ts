import { expect, test } from 'vitest';
import {
  CACHED_PREFIX,
  HEAD_KEY,
  expectAbsent,
  StoreUnavailable,
  type WatchListener,
} from '../../../src/store/port.ts';
import { erase, fillStore, follow, truth, write, type Followed } from '../../support/service/followed.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { onEachStoreAlone } from '../../support/store/stores.ts';
import { until } from '../../support/time/until.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const A = `${CACHED_PREFIX}a/`;

/** A write that leaves `head` alone, as heartbeats do. */
async function quietly(store: Parameters<typeof write>[0], name: string): Promise<number> {
  const result = await store.commit({
    expect: [expectAbsent('never')],
    write: [{ put: rawKey(A + name), value: 'quiet' }],
    quiet: true,
  });
  if (result.outcome !== 'committed') throw new Error('expected the commit to succeed');
  return result.revision;
}

async function relisted(followed: Followed, times: number): Promise<void> {
  await until(() => followed.counted.relisted === times);
  await followed.ready();
  expect(followed.logged.join()).toContain('the watch cache is listed anew');
}

onEachStoreAlone('a store that was restored', (stores) => {
  test('head goes backwards: memory is dropped at once, and listed anew', async () => {
    await using store = await stores.open();
    const faulty = faultyStore(store);
    await write(store, 'x', '1');
    await using followed = follow(faulty);
    await followed.ready();
    faulty.answerHead = ({ revision }) => ({ revision: revision - 1, epochId: 'aaaaaaaaaaaaaaaa' });
    expect(await followed.watchCache.fresh()).toBe('behind');
    expect(followed.watchCache.ready).toBe(false);
    expect(followed.shelf.clearedTimes).toBeGreaterThan(1);
    faulty.answerHead = (head) => head;
    await relisted(followed, 1);
    expect(followed.shelf.entries).toEqual(await truth(store));
  });

  test('head has the same revision and another epoch id: another history', async () => {
    await using store = await stores.open();
    const faulty = faultyStore(store);
    await write(store, 'x', '1');
    await using followed = follow(faulty);
    await followed.ready();
    faulty.answerHead = ({ revision }) => ({ revision, epochId: 'aaaaaaaaaaaaaaaa' });
    expect(await followed.watchCache.fresh()).toBe('behind');
    faulty.answerHead = (head) => head;
    await relisted(followed, 1);
  });

  test('head lies between the last one known and what quiet writes brought: another history', async () => {
    await using store = await stores.open();
    const faulty = faultyStore(store);
    const known = await write(store, 'x', '1');
    await using followed = follow(faulty);
    await followed.ready();
    await quietly(store, 'h1');
    const applied = await quietly(store, 'h2');
    await until(() => followed.watchCache.applied === applied);
    expect(await followed.watchCache.fresh()).toBe('fresh');
    // Within one history memory would know this head: it has reached its revision.
    faulty.answerHead = () => ({ revision: known + 1, epochId: 'aaaaaaaaaaaaaaaa' });
    expect(await followed.watchCache.fresh()).toBe('behind');
    faulty.answerHead = (head) => head;
    await relisted(followed, 1);
  });

  test('the store is another one for a moment: memory does not outlive that', async () => {
    await using store = await stores.open();
    const faulty = faultyStore(store);
    await write(store, 'x', '1');
    await using followed = follow(faulty);
    await followed.ready();
    const lost = new StoreUnavailable('replaced', 'head: it is');
    faulty.answerHead = () => {
      throw lost;
    };
    await expect(followed.watchCache.fresh()).rejects.toBe(lost);
    expect(followed.watchCache.ready).toBe(false);
    faulty.answerHead = (head) => head;
    await relisted(followed, 1);
  });

  test('somebody removes the whole store: its removals are not those of this one', async () => {
    await using store = await stores.open();
    const faulty = faultyStore(store);
    await write(store, 'x', '1');
    const listeners: WatchListener[] = [];
    faulty.watch = (prefix, from, listener) => {
      listeners.push(listener);
      return store.watch(prefix, from, listener);
    };
    await using followed = follow(faulty);
    await followed.ready();
    const revision = followed.watchCache.applied + 1;
    const changes = [`${A}x`, HEAD_KEY].map((key) => ({ key: rawKey(key), revision, value: undefined }));
    // `head` is as before once the data is back.
    listeners[0]?.onBatch({ revision, changes });
    await relisted(followed, 1);
    expect(followed.shelf.entries).toEqual(await truth(store));
  });

  test('a broken watch is not resumed on another history', async () => {
    await using store = await stores.open();
    await using other = await stores.open();
    for (const one of [store, other]) for (let n = 0; n < 5; n += 1) await write(one, `n${n}`, '1');
    const faulty = faultyStore(store);
    await using followed = follow(faulty);
    await followed.ready();
    // Its former content is gone: another history wrote the same keys at the same revisions.
    faulty.headAt = async (revision) => {
      const then = await store.headAt(revision);
      return typeof then === 'object' ? { ...then, epochId: 'aaaaaaaaaaaaaaaa' } : then;
    };
    followed.clock.advance(5000);
    faulty.sever();
    await until(() => followed.counted.relisted === 1);
    expect(followed.watchCache.ready).toBe(false);
    faulty.headAt = (revision) => store.headAt(revision);
    await followed.ready();
  });

  test('a store replaced while it is listed is listed once more', async () => {
    await using store = await stores.open();
    await fillStore(store, 200);
    const faulty = faultyStore(store);
    const truthful = faulty.headAt;
    let asked = 0;
    faulty.headAt = (revision) => {
      asked += 1;
      return asked === 1 ? Promise.resolve('future') : truthful(revision);
    };
    await using followed = follow(faulty);
    await followed.ready();
    expect(asked).toBe(2);
    expect(followed.logged.join()).toContain('restored or replaced while');
    expect(followed.shelf.entries.size).toBe(200);
  });

  test('an answer of head that began before memory was dropped does not drop the new memory', async () => {
    await using store = await stores.open();
    await write(store, 'x', '1');
    const faulty = faultyStore(store);
    await using followed = follow(faulty);
    await followed.ready();
    const goOn = Promise.withResolvers<void>();
    faulty.intercept('head', 'after', () => goOn.promise);
    const late = followed.watchCache.fresh();
    await write(store, 'y', '1');
    followed.shelf.remove(`${A}x`);
    expect(await followed.watchCache.checkConsistency()).toBe('different');
    await until(() => followed.shelf.settledTimes > 1 && followed.shelf.entries.size === 2);
    goOn.resolve();
    expect(await late).toBe('fresh');
    expect(followed.counted.relisted).toBe(1);
  });
});

onEachStoreAlone('the consistency check', (stores) => {
  test('equal: memory is what the store was at that revision, even while it moves on', async () => {
    await using store = await stores.open();
    await fillStore(store, 1200);
    const faulty = faultyStore(store);
    await using followed = follow(faulty);
    await followed.ready();
    await erase(store, 'n000007');
    await followed.caughtUp();
    faulty.intercept('listAt', 'before', () => write(store, 'n000003', 'meanwhile'));
    expect(await followed.watchCache.checkConsistency()).toBe('equal');
    expect(followed.counted.relisted).toBe(0);
  });

  test.each([
    ['a key is missing', (followed: Followed): void => followed.shelf.remove(`${A}n000001`)],
    [
      'a key is too much',
      (followed: Followed): void => followed.shelf.put({ key: rawKey(`${A}ghost`), value: '', revision: 1 }),
    ],
    [
      'a key is older',
      (followed: Followed): void => followed.shelf.put({ key: rawKey(`${A}n000001`), value: '0', revision: 1 }),
    ],
  ])('different, %s: a metric, a line of the log, and it is listed anew', async (_, corrupt) => {
    await using store = await stores.open();
    await fillStore(store, 300);
    await write(store, 'n000001', 'newer');
    await using followed = follow(store, { checkEveryMs: 300_000 });
    await followed.ready();
    // Until the watch has reached what was listed, a comparison says nothing.
    await until(async () => (await followed.watchCache.checkConsistency()) === 'equal');
    corrupt(followed);
    followed.clock.advance(300_000);
    await until(() => followed.counted.checks.length === 1);
    expect(followed.counted.checks).toEqual(['different']);
    expect(followed.logged.some((line) => line.includes('"level":"error"') && line.includes('differs'))).toBe(true);
    await relisted(followed, 1);
    expect(followed.shelf.entries).toEqual(await truth(store));
    await until(async () => (await followed.watchCache.checkConsistency()) === 'equal');
  });

  test('unknown, not different, as long as the watch has not reached what was listed', async () => {
    await using store = await stores.open();
    await fillStore(store, 1200);
    const faulty = faultyStore(store);
    faulty.deaf = true;
    faulty.intercept('list', 'after', () => Promise.resolve());
    faulty.intercept('list', 'after', async () => {
      await write(store, 'n001199', 'listed beyond the watch');
      await erase(store, 'n001198');
    });
    await using followed = follow(faulty);
    await until(() => followed.shelf.settledTimes > 0);
    expect(await followed.watchCache.checkConsistency()).toBe('unknown');
    faulty.deaf = false;
    followed.clock.advance(5000);
    faulty.sever();
    await until(async () => (await followed.watchCache.checkConsistency()) === 'equal');
  });

  test('unknown where the history is gone', async () => {
    await using store = await stores.open();
    const faulty = faultyStore(store);
    await write(store, 'x', '1');
    await using followed = follow(faulty);
    await followed.ready();
    faulty.intercept('listAt', 'before', async () => {
      const revision = await write(store, 'y', '1');
      await store.compact(revision);
    });
    expect(await followed.watchCache.checkConsistency()).toBe('unknown');
    expect(followed.counted.relisted).toBe(0);
    expect(followed.shelf.value(HEAD_KEY)).toBeUndefined();
  });
});
