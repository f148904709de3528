import { expect, test } from 'vitest';
import { CACHED_PREFIX } from '../../../src/store/port.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { runs } from '../../support/run/effort.ts';
import { erase, fillStore, follow, truth, write } from '../../support/service/followed.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { until } from '../../support/time/until.ts';

const A = `${CACHED_PREFIX}a/`;

/** Draws that repeat with their seed (mulberry32). */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

onEachStore('the watch cache', (stores) => {
  test('fills from what is there, and is not ready before', async () => {
    await using store = await stores.open();
    await write(store, 'one', '1');
    await using followed = follow(store);
    expect(followed.watchCache.ready).toBe(false);
    await followed.ready();
    expect(followed.shelf.entries).toEqual(await truth(store));
    expect(followed.watchCache.lag).toBe(0);
  });

  test('fills from a store that has nothing', async () => {
    await using store = await stores.open();
    await using followed = follow(store);
    await followed.ready();
    expect(followed.shelf.entries.size).toBe(0);
    await write(store, 'first', '1');
    await followed.caughtUp();
    expect(followed.shelf.value(`${A}first`)).toBe('1');
  });

  test('follows puts and removals', async () => {
    await using store = await stores.open();
    await using followed = follow(store);
    await followed.ready();
    await write(store, 'x', '1');
    await write(store, 'y', '1');
    await write(store, 'x', '2');
    await erase(store, 'y');
    await followed.caughtUp();
    expect([...followed.shelf.entries.values()].map((entry) => entry.value)).toEqual(['2']);
  });

  test('takes no key of a neighbour, and no writes of a neighbour leave it behind', async () => {
    // On etcd in the same one, under another prefix.
    await using store = await stores.open();
    await using neighbour = await stores.open();
    await write(neighbour, 'theirs', '1');
    await using followed = follow(store);
    await followed.ready();
    for (let n = 0; n < 20; n += 1) await write(neighbour, `n${n}`, '1');
    await followed.caughtUp();
    expect(followed.shelf.entries.size).toBe(0);
    await write(store, 'ours', '1');
    await followed.caughtUp();
    expect(followed.shelf.value(`${A}ours`)).toBe('1');
  });

  test.each(Array.from({ length: runs(1) }, (_, index) => index + 1))(
    'fresh() never says so of older memory, whatever writers and watches do (seed %i)',
    async (seed) => {
      await using store = await stores.open();
      const faulty = faultyStore(store);
      await using followed = follow(faulty, { clock: systemClock });
      await until(() => followed.watchCache.ready);
      const acknowledged = new Map<string, number>();
      const verdicts = new Map<string, number>();
      const work = { over: false };

      const writers = Array.from({ length: 4 }, async (_, writer) => {
        const random = seeded(seed * 100 + writer);
        for (let n = 1; n <= 150; n += 1) {
          const name = `w${writer}-${random(5)}`;
          await write(store, name, String(n));
          acknowledged.set(`${A}${name}`, n);
        }
      });
      const troubles = (async () => {
        const random = seeded(seed);
        while (!work.over) {
          for (let turns = random(100); turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
          faulty.deaf = random(4) === 0;
          if (!faulty.deaf) faulty.sever();
        }
      })();
      const readers = Array.from({ length: 4 }, async () => {
        while (!work.over) {
          await new Promise((resolve) => setImmediate(resolve));
          const before = new Map(acknowledged);
          const verdict = await followed.watchCache.fresh();
          verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
          if (verdict === 'behind') continue;
          for (const [key, n] of before) expect(Number(followed.shelf.value(key))).toBeGreaterThanOrEqual(n);
        }
      });
      const readOn = Promise.all(readers);
      await Promise.all(writers);
      work.over = true;
      await Promise.all([troubles, readOn]);
      expect(verdicts.size).toBeGreaterThan(0);

      // By itself a silent watch is opened again only after a while.
      faulty.deaf = false;
      faulty.sever();
      await followed.caughtUp();
    },
  );

  test('a thousand waiters share the reads of head', async () => {
    await using store = await stores.open();
    const faulty = faultyStore(store);
    await using followed = follow(faulty);
    await followed.ready();
    const before = faulty.calls.head;
    const release = faulty.stall('head');
    const first = followed.watchCache.fresh();
    await until(() => faulty.calls.head > before);
    const waiters = Array.from({ length: 1000 }, async () => await followed.watchCache.fresh());
    release();
    expect(new Set(await Promise.all([first, ...waiters]))).toEqual(new Set(['fresh']));
    expect(faulty.calls.head - before).toBe(2);
  });

  test('a read of head that is under way does not serve a caller that asks meanwhile', async () => {
    await using store = await stores.open();
    const faulty = faultyStore(store);
    await using followed = follow(faulty);
    await followed.ready();
    faulty.deaf = true;
    const answered = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    faulty.intercept('head', 'after', async () => {
      answered.resolve();
      await goOn.promise;
    });
    const early = followed.watchCache.fresh();
    await answered.promise;
    await write(store, 'late', '1');
    const late = followed.watchCache.fresh();
    goOn.resolve();
    expect(await early).toBe('fresh');
    expect(await late).toBe('behind');
  });

  test('a large listing goes in pages, and lets other work go on between them', async () => {
    await using store = await stores.open();
    await fillStore(store, 6000);
    const faulty = faultyStore(store);
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (!followed.watchCache.ready) setImmediate(count);
    };
    await using followed = follow(faulty);
    count();
    await followed.ready();
    expect(followed.shelf.entries.size).toBe(6000);
    // One page for head, then 6 and the rest: `head` lies in the range as well.
    expect(faulty.calls.list).toBe(8);
    expect(turns).toBeGreaterThanOrEqual(6);
  });
});
