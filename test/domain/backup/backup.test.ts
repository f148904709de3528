import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { StoreUnavailable, type Store } from '../../../src/store/port.ts';
import { backupsOf, backupText, copiedAt, putAll, readText } from '../../support/records/backups.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';

const COUNT = 1000;
const keyOf = (index: number): string => `cred/${String(index).padStart(5, '0')}`;

/** More than fits in a page, many times. */
async function filled(store: Store): Promise<Store> {
  const records = Array.from({ length: COUNT }, (_none, index): [string, object] => [keyOf(index), { n: 0 }]);
  await putAll(store, Object.fromEntries(records));
  return store;
}

onEachStore('a backup', (stores) => {
  test('is of one revision, whatever is written, removed and compacted between two of its pages', async () => {
    await using store = await filled(await stores.open());
    let round = 0;
    const text = await backupText(store, async () => {
      round += 1;
      await putAll(store, { [keyOf(COUNT - round)]: { n: round }, [keyOf(round)]: { n: round }, [`zz/${round}`]: {} });
      await store.commit({
        expect: [{ key: 'never', revision: 0 }],
        write: [{ remove: keyOf(COUNT - 100 - round) }],
      });
      await store.compact((await store.list({ prefix: 'x', limit: 1 })).revision);
    });
    expect(round).toBeGreaterThan(5);
    const { entries } = await readText(text);
    expect(entries.map(({ key, value }) => [key, value])).toEqual(
      Array.from({ length: COUNT }, (_none, index) => [keyOf(index), '{"n":0}']),
    );
  });

  test('has every record as it is at its revision, and nothing of what belongs to the life of the store', async () => {
    await using store = await filled(await stores.open());
    const records = [KEYS.format, KEYS.compaction, KEYS.leader, KEYS.replica('r'), KEYS.pin('p'), KEYS.rateWindow('a')];
    await putAll(store, Object.fromEntries(records.map((key) => [key, { at: 1 }])));
    await putAll(store, {
      [KEYS.activeKey]: { number: 1 },
      [KEYS.rewrapped]: { number: 1 },
      [KEYS.day]: { day: 'd' },
    });
    let held: Awaited<ReturnType<typeof copiedAt>> = [];
    let text = '';
    {
      const begun = await backupsOf(store).begin({ counted: true });
      if (begun === 'busy') throw new Error('busy');
      await using backup = begun;
      for await (const piece of backup.pieces()) text += piece;
      held = await copiedAt(store, (await readText(text)).revision);
    }
    const { entries, counted } = await readText(text);
    expect(entries).toEqual(held);
    expect([entries.length, counted]).toEqual([COUNT + 1, COUNT + 1]);
    expect(entries.map(({ key }) => key).filter((key) => !key.startsWith('cred/'))).toEqual([KEYS.day]);
  });

  test('is made one at a time; the next one may begin when the one before is let go of, finished or not', async () => {
    await using store = await filled(await stores.open());
    const backups = backupsOf(store);
    const first = await backups.begin({ counted: false });
    expect(await backups.begin({ counted: false })).toBe('busy');
    if (first === 'busy') throw new Error('busy');
    await first.pieces().next();
    await first[Symbol.asyncDispose]();
    expect((await store.list({ prefix: KEYS.pins, limit: 10 })).entries).toEqual([]);
    const second = await backups.begin({ counted: false });
    expect(second).not.toBe('busy');
    if (second !== 'busy') await second[Symbol.asyncDispose]();
  });

  test('that cannot begin holds nothing, and leaves the way free', async () => {
    await using store = await filled(await stores.open());
    let down = true;
    const hold: Store['hold'] = (...args) =>
      down ? Promise.reject(new StoreUnavailable('unreachable', 'down')) : store.hold(...args);
    const backups = backupsOf(wrappedStore(store, { hold }));
    await expect(backups.begin({ counted: false })).rejects.toThrow('down');
    down = false;
    const begun = await backups.begin({ counted: false });
    expect(begun).not.toBe('busy');
    if (begun !== 'busy') await begun[Symbol.asyncDispose]();
  });

  test('that is compacted away while it is counted, is an outage, and another one can begin', async () => {
    await using store = await filled(await stores.open());
    let pages = 0;
    const backups = backupsOf(
      wrappedStore(store, {
        listAt: (...args) => ((pages += 1) === 1 ? Promise.resolve('compacted') : store.listAt(...args)),
      }),
    );
    await expect(backups.begin({ counted: true })).rejects.toThrow(StoreUnavailable);
    const begun = await backups.begin({ counted: true });
    expect(begun).not.toBe('busy');
    if (begun !== 'busy') await begun[Symbol.asyncDispose]();
  });

  test.each([
    ['somebody compacted past it', () => Promise.resolve('compacted' as const), /history .* compacted .* run it again/],
    [
      'the store went away',
      () => Promise.reject(new StoreUnavailable('timeout', 'secret')),
      /the store is unavailable/,
    ],
  ])('says at its end that %s, and is none', async (_what, listAt, words) => {
    await using store = await filled(await stores.open());
    let pages = 0;
    const text = await backupText(
      wrappedStore(store, { listAt: (...args) => ((pages += 1) > 2 ? listAt() : store.listAt(...args)) }),
    );
    expect(text).not.toContain('secret');
    await expect(readText(text)).rejects.toThrow(words);
  });
});
