import { expect, test } from 'vitest';
import { CACHED_PREFIX, HEAD_KEY } from '../../../src/store/port.ts';
import { erase, fillStore, follow, truth, write } from '../../support/service/followed.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { onEachStoreAlone } from '../../support/store/stores.ts';
import { until } from '../../support/time/until.ts';

const A = `${CACHED_PREFIX}a/`;

onEachStoreAlone('the watch cache in trouble', (stores) => {
  test('a silent watch: reads go to the store, the watch is opened again, and memory is fresh again', async () => {
    await using store = await stores.open();
    const faulty = faultyStore(store);
    await using followed = follow(faulty);
    await followed.ready();
    faulty.deaf = true;
    await write(store, 'unheard', '1');
    expect(await followed.watchCache.fresh()).toBe('behind');
    expect(followed.counted.behind).toBeGreaterThan(0);
    expect(faulty.watchesOpened).toBe(1);
    await until(() => faulty.missed > 0);
    faulty.deaf = false;
    followed.clock.advance(5001);
    expect(await followed.watchCache.fresh()).toBe('behind');
    await until(() => faulty.watchesOpened === 2);
    await followed.caughtUp();
    expect(followed.shelf.value(`${A}unheard`)).toBe('1');
    expect(followed.counted.relisted).toBe(0);
    expect(followed.logged.join()).toContain('the watch is silent');
  });

  test('a watch that is late but brings something is left alone', async () => {
    await using store = await stores.open();
    const faulty = faultyStore(store);
    await using followed = follow(faulty);
    await followed.ready();
    faulty.answerHead = (truth) => ({ ...truth, revision: truth.revision + 1000 });
    for (let round = 0; round < 4; round += 1) {
      const applied = await write(store, 'moving', String(round));
      await until(() => followed.watchCache.applied >= applied);
      expect(await followed.watchCache.fresh()).toBe('behind');
      followed.clock.advance(3000);
    }
    expect(faulty.watchesOpened).toBe(1);
  });

  test('a watch that breaks off is resumed where it was, without a gap and without another listing', async () => {
    await using store = await stores.open();
    const faulty = faultyStore(store);
    await using followed = follow(faulty);
    await followed.ready();
    const listings = faulty.calls.list;
    for (let round = 0; round < 4; round += 1) {
      faulty.intercept('headAt', 'before', () => write(store, `missed${round}`, '1'));
      followed.clock.advance(5000);
      faulty.sever();
      await until(() => faulty.watchesOpened === round + 2);
      await write(store, `after${round}`, '1');
      await followed.caughtUp();
    }
    expect(followed.shelf.entries).toEqual(await truth(store));
    expect(followed.shelf.entries.size).toBe(8);
    expect(faulty.calls.list).toBe(listings);
  });

  test('watches that break off at once are not opened in a storm', async () => {
    await using store = await stores.open();
    const faulty = faultyStore(store);
    await using followed = follow(faulty);
    await followed.ready();
    followed.clock.advance(1000);
    faulty.sever();
    const heard = await write(store, 'heard', '1');
    await until(() => followed.watchCache.applied >= heard);
    expect(faulty.watchesOpened).toBe(2);
    faulty.sever();
    await until(() => followed.logged.join().includes('could not follow'));
    expect(faulty.watchesOpened).toBe(2);
    followed.clock.advance(100);
    await until(() => faulty.watchesOpened === 3);
  });

  test('history that is compacted under a broken watch: it lists anew', async () => {
    await using store = await stores.open();
    const faulty = faultyStore(store);
    await write(store, 'gone', '1');
    await using followed = follow(faulty);
    await followed.ready();
    // Between the end of one watch and the begin of the next, changes come and their history goes.
    faulty.intercept('headAt', 'before', async () => {
      await erase(store, 'gone');
      const revision = await write(store, 'new', '2');
      await store.compact(revision);
    });
    followed.clock.advance(5000);
    faulty.sever();
    await until(() => followed.counted.relisted === 1);
    await followed.ready();
    expect([...followed.shelf.entries.keys()]).toEqual([`${A}new`]);
  });

  test('compaction under the listing does no harm', async () => {
    await using store = await stores.open();
    await fillStore(store, 2500);
    const faulty = faultyStore(store);
    for (let page = 0; page < 4; page += 1) {
      faulty.intercept('list', 'after', async () => {
        const revision = await write(store, `during${page}`, '1');
        await store.compact(revision);
      });
    }
    await using followed = follow(faulty);
    await followed.ready();
    expect(followed.shelf.entries).toEqual(await truth(store));
  });

  test('what is removed, changed or put back while it is listed ends as the store has it', async () => {
    await using store = await stores.open();
    await fillStore(store, 2500);
    const faulty = faultyStore(store);
    const seen = (): Promise<void> => until(() => faulty.watching === 1);
    // The first list is of `head`; the answer of the second holds what is removed before it is handed over.
    faulty.intercept('list', 'after', () => Promise.resolve());
    faulty.intercept('list', 'after', async () => {
      await seen();
      await erase(store, 'n000001');
      await erase(store, 'n000002');
      await write(store, 'n000002', 'put back');
      await write(store, 'n000003', 'changed');
      await erase(store, 'n002400');
      const last = await write(store, 'n000004', 'last');
      await until(() => followed.watchCache.applied >= last);
    });
    await using followed = follow(faulty);
    await followed.ready();
    expect(followed.shelf.value(`${A}n000001`)).toBeUndefined();
    expect(followed.shelf.value(`${A}n000002`)).toBe('put back');
    expect(followed.shelf.entries).toEqual(await truth(store));
  });

  test('a watch that ends under the listing: it is begun anew', async () => {
    await using store = await stores.open();
    await fillStore(store, 2500);
    const faulty = faultyStore(store);
    faulty.intercept('list', 'after', () => Promise.resolve());
    faulty.intercept('list', 'after', () => {
      faulty.sever();
      return erase(store, 'n002499');
    });
    await using followed = follow(faulty);
    await followed.ready();
    expect(followed.shelf.entries).toEqual(await truth(store));
    expect(faulty.watchesOpened).toBe(2);
  });

  test('a store that is down at the start: not ready, and filled once it is up', async () => {
    await using store = await stores.open();
    await write(store, 'x', '1');
    const faulty = faultyStore(store);
    faulty.outage(true);
    await using followed = follow(faulty);
    for (let round = 0; round < 20; round += 1) {
      await expect(followed.watchCache.fresh()).rejects.toMatchObject({ reason: 'unreachable' });
      followed.clock.advance(3000);
    }
    expect(followed.watchCache.ready).toBe(false);
    faulty.outage(false);
    await followed.ready();
    expect(followed.shelf.value(`${A}x`)).toBe('1');
  });

  test('a store that does not answer for five seconds: not ready, by the pulse alone', async () => {
    await using store = await stores.open();
    const faulty = faultyStore(store);
    await using followed = follow(faulty);
    await followed.ready();
    faulty.down.add('head');
    const asked = faulty.calls.head;
    for (let second = 1; second <= 5; second += 1) {
      expect(followed.watchCache.ready).toBe(true);
      followed.clock.advance(1000);
      await until(() => faulty.calls.head >= asked + second);
    }
    expect(followed.watchCache.ready).toBe(false);
    faulty.down.delete('head');
    await followed.ready();
    expect(followed.counted.relisted).toBe(0);
  });

  test.each([['before the first page'], ['between pages']])('it is stopped %s', async (when) => {
    await using store = await stores.open();
    await fillStore(store, 2500);
    const faulty = faultyStore(store);
    if (when === 'between pages') faulty.intercept('list', 'after', () => Promise.resolve());
    const stopped = Promise.withResolvers<void>();
    faulty.intercept('list', 'after', () => {
      stopped.resolve(followed[Symbol.asyncDispose]());
      return Promise.resolve();
    });
    const followed = follow(faulty);
    await stopped.promise;
    expect(followed.watchCache.ready).toBe(false);
    expect(faulty.watching).toBe(0);
    expect(followed.shelf.value(HEAD_KEY)).toBeUndefined();
    const listings = faulty.calls.list;
    followed.clock.advance(60_000);
    expect(faulty.calls.list).toBe(listings);
  });
});
