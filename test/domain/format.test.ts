import { expect, test } from 'vitest';
import { settleFormat, type Migrations } from '../../src/domain/format.ts';
import { FORMAT, formatSchema, KEYS, parseRecord } from '../../src/domain/records.ts';
import { ABSENT, type Store } from '../../src/store/port.ts';
import { entriesOf } from '../support/accounts.ts';
import { onEachStore } from '../support/stores.ts';
import { unluckyStore } from '../support/unlucky-store.ts';

async function putAll(store: Store, entries: Readonly<Record<string, string>>): Promise<void> {
  const write = Object.entries(entries).map(([key, value]) => ({ put: key, value }));
  const { outcome } = await store.commit({ expect: [{ key: 'never', revision: ABSENT }], write });
  expect(outcome).toBe('committed');
}

async function formatOf(store: Store): Promise<number | undefined> {
  const entry = await store.get(KEYS.format);
  return entry && parseRecord(formatSchema, entry).record.format;
}

/** A made-up step from format 1 to 2: every word under `word/` is written in capitals, one commit each. */
const capitals = async (store: Store): Promise<void> => {
  for (const { key, value, revision } of await entriesOf(store, 'word/')) {
    if (value === value.toUpperCase()) continue;
    const write = [{ put: key, value: value.toUpperCase() }];
    await store.commit({ expect: [{ key, revision }], write });
  }
};
/** From format 2 to 3. */
const exclaimed = async (store: Store): Promise<void> => {
  for (const { key, value, revision } of await entriesOf(store, 'word/')) {
    if (value.endsWith('!')) continue;
    await store.commit({ expect: [{ key, revision }], write: [{ put: key, value: `${value}!` }] });
  }
};
const MIGRATIONS: Migrations = new Map([
  [1, capitals],
  [2, exclaimed],
]);

const WORDS = { format: '{"format":1}', 'word/a': 'one', 'word/b': 'two', 'word/c': 'three' };
const words = async (store: Store): Promise<string[]> => (await entriesOf(store, 'word/')).map(({ value }) => value);

onEachStore('the format of the records', (stores) => {
  test('an empty store takes the format of this program', async () => {
    await using store = await stores.open();
    await settleFormat(store);
    expect(await formatOf(store)).toBe(FORMAT);
  });

  test('the same format is left alone', async () => {
    await using store = await stores.open();
    await settleFormat(store);
    const before = await store.head();
    await settleFormat(store);
    expect(await store.head()).toEqual(before);
  });

  test('a newer one is refused in words, and nothing is touched', async () => {
    await using store = await stores.open();
    await putAll(store, { format: `{"format":${FORMAT + 1}}`, 'word/a': 'one' });
    const before = await store.head();
    await expect(settleFormat(store)).rejects.toThrow(
      `The store was written by a newer Muster (format ${FORMAT + 1}; this program knows up to ${FORMAT}).`,
    );
    expect(await store.head()).toEqual(before);
  });

  test('one that no migration begins from is refused in words', async () => {
    await using store = await stores.open();
    await putAll(store, WORDS);
    await expect(settleFormat(store, new Map(), 2)).rejects.toThrow("The store's format 1 is too old");
    expect(await formatOf(store)).toBe(1);
  });

  test('an older one is migrated forward, step by step, and keeps what a newer minor version wrote', async () => {
    await using store = await stores.open();
    await putAll(store, { ...WORDS, format: '{"format":1,"since":"later"}' });
    await settleFormat(store, MIGRATIONS, 3);
    expect(await words(store)).toEqual(['ONE!', 'TWO!', 'THREE!']);
    expect((await store.get(KEYS.format))?.value).toBe('{"format":3,"since":"later"}');
  });

  test('a migration that is stopped in the middle is run again', async () => {
    await using store = await stores.open();
    await putAll(store, WORDS);
    for (const fates of [['passes', 'lost before commit'] as const, ['passes', 'answer lost after commit'] as const]) {
      await expect(settleFormat(unluckyStore(store, fates), MIGRATIONS, 3)).rejects.toMatchObject({
        reason: 'timeout',
      });
      expect(await formatOf(store)).toBeLessThan(3);
    }
    await settleFormat(store, MIGRATIONS, 3);
    expect(await words(store)).toEqual(['ONE!', 'TWO!', 'THREE!']);
    expect(await formatOf(store)).toBe(3);
  });

  test('two replicas that migrate at once end where one would', async () => {
    await using store = await stores.open();
    await putAll(store, WORDS);
    // One is through with both steps while the other is about to write what the first step found.
    const late = unluckyStore(store);
    late.intercept('commit', 'before', () => settleFormat(store, MIGRATIONS, 3));
    await Promise.all([settleFormat(late, MIGRATIONS, 3), settleFormat(unluckyStore(store), MIGRATIONS, 3)]);
    expect(await words(store)).toEqual(['ONE!', 'TWO!', 'THREE!']);
    expect(await formatOf(store)).toBe(3);
  });

  test('two replicas that meet in an empty store agree', async () => {
    await using store = await stores.open();
    const late = unluckyStore(store);
    late.intercept('commit', 'before', () => settleFormat(store));
    await settleFormat(late);
    expect(await formatOf(store)).toBe(FORMAT);
  });
});
