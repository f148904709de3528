import { expect, test } from 'vitest';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { FORMAT, formatSchema } from '../../../src/domain/records/records.ts';
import { newerFormat, refuseNewerFormat, settleFormat, type Migrations } from '../../../src/domain/replicas/format.ts';
import { StoreIdentity } from '../../../src/domain/replicas/store-identity.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { ABSENT, expectAbsent, expectUnchanged, type Store } from '../../../src/store/port.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { wrappedStore } from '../../../src/store/wrapped.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

async function putAll(store: Store, entries: Readonly<Record<string, string>>): Promise<void> {
  const write = Object.entries(entries).map(([key, value]) => ({ put: key, value }));
  const { outcome } = await store.commit({ expect: [expectAbsent('never')], write });
  expect(outcome).toBe('committed');
}

async function formatOf(store: Store): Promise<number | undefined> {
  const entry = await store.get(KEYS.format);
  return entry && parseRecord(formatSchema, entry).record.format;
}

/** A made-up step from format 1 to 2: every word under `word/` is written in capitals, one commit each. */
const capitals = async (store: Store): Promise<void> => {
  for (const entry of await entriesOf(store, 'word/')) {
    const { key, value } = entry;
    if (value === value.toUpperCase()) continue;
    const write = [{ put: key, value: value.toUpperCase() }];
    await store.commit({ expect: [expectUnchanged(entry)], write });
  }
};
/** From format 2 to 3. */
const exclaimed = async (store: Store): Promise<void> => {
  for (const entry of await entriesOf(store, 'word/')) {
    const { key, value } = entry;
    if (value.endsWith('!')) continue;
    await store.commit({ expect: [expectUnchanged(entry)], write: [{ put: key, value: `${value}!` }] });
  }
};
const MIGRATIONS: Migrations = new Map([
  [1, capitals],
  [2, exclaimed],
]);
const TO_3 = { migrations: MIGRATIONS, format: 3 };

const WORDS = { format: '{"format":1,"storeId":"this-one"}', 'word/a': 'one', 'word/b': 'two', 'word/c': 'three' };
const words = async (store: Store): Promise<string[]> => (await entriesOf(store, 'word/')).map(({ value }) => value);

onEachStore('the format of the records', (stores) => {
  test('an empty store takes the format of this program', async () => {
    await using store = await stores.open();
    await settleFormat(store);
    expect(await formatOf(store)).toBe(FORMAT);
  });

  test.each([
    ['a start', {}],
    ['`muster init-store`', { initialize: true }],
  ])(
    'a store that has records and lost that of the format is refused by %s, and left as it is',
    async (_, settling) => {
      await using store = await stores.open();
      await putAll(store, { [KEYS.activeKey]: '{}' });
      const before = await store.head();
      await expect(settleFormat(store, settling)).rejects.toThrow('has lost the one of their format');
      expect([await store.get(KEYS.format), await store.head()]).toEqual([undefined, before]);
    },
  );

  test('a format that another replica makes meanwhile, with records of its own, is taken', async () => {
    await using store = await stores.open();
    let isAsked = false;
    const late = wrappedStore(store, {
      async list(request) {
        if (!isAsked) await putAll(store, { [KEYS.format]: `{"format":${FORMAT},"storeId":"theirs"}`, other: '{}' });
        isAsked = true;
        return await store.list(request);
      },
    });
    expect(await settleFormat(late)).toBe('theirs');
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
    await expect(settleFormat(store, { migrations: new Map(), format: 2 })).rejects.toThrow(
      "The store's format 1 is too old",
    );
    expect(await formatOf(store)).toBe(1);
  });

  test('an older one is migrated forward, step by step, and keeps what a newer minor version wrote', async () => {
    await using store = await stores.open();
    await putAll(store, { ...WORDS, format: '{"format":1,"storeId":"this-one","since":"later"}' });
    await settleFormat(store, TO_3);
    expect(await words(store)).toEqual(['ONE!', 'TWO!', 'THREE!']);
    expect((await store.get(KEYS.format))?.value).toBe('{"format":3,"storeId":"this-one","since":"later"}');
  });

  test('a migration that is stopped in the middle is run again', async () => {
    await using store = await stores.open();
    await putAll(store, WORDS);
    for (const fates of [['passes', 'lost before commit'] as const, ['passes', 'answer lost after commit'] as const]) {
      await expect(settleFormat(faultyStore(store, fates), TO_3)).rejects.toMatchObject({
        reason: 'timeout',
      });
      expect(await formatOf(store)).toBeLessThan(3);
    }
    await settleFormat(store, TO_3);
    expect(await words(store)).toEqual(['ONE!', 'TWO!', 'THREE!']);
    expect(await formatOf(store)).toBe(3);
  });

  test('two replicas that migrate at once end where one would', async () => {
    await using store = await stores.open();
    await putAll(store, WORDS);
    // One has done both steps while the other is about to write the result of the first.
    const late = faultyStore(store);
    late.intercept('commit', 'before', () => settleFormat(store, TO_3));
    await Promise.all([settleFormat(late, TO_3), settleFormat(faultyStore(store), TO_3)]);
    expect(await words(store)).toEqual(['ONE!', 'TWO!', 'THREE!']);
    expect(await formatOf(store)).toBe(3);
  });

  test('two replicas that meet in an empty store agree', async () => {
    await using store = await stores.open();
    const late = faultyStore(store);
    late.intercept('commit', 'before', () => settleFormat(store));
    await settleFormat(late);
    expect(await formatOf(store)).toBe(FORMAT);
  });
});

onEachStore('the id of the store', (stores) => {
  const idIn = async (store: Store): Promise<unknown> => JSON.parse((await store.get(KEYS.format))?.value ?? 'null');
  const OTHER = `{"format":${FORMAT},"storeId":"another"}`;
  const WITHOUT = `{"format":${FORMAT},"since":"later"}`;
  const named = (initialize = false): { identity: StoreIdentity; initialize: boolean } => ({
    identity: new StoreIdentity('this-one'),
    initialize,
  });

  test('is made with the format, at random, and is the same for every replica', async () => {
    await using store = await stores.open();
    await using neighbour = await stores.open();
    const late = faultyStore(store);
    let first: string | undefined;
    late.intercept('commit', 'before', async () => {
      first = await settleFormat(store);
    });
    const id = await settleFormat(late);
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect([first, await settleFormat(store)]).toEqual([id, id]);
    expect(await idIn(store)).toEqual({ format: FORMAT, storeId: id });
    expect(await settleFormat(neighbour)).not.toBe(id);
  });

  test('is added to a store of a version that knew of none, and nothing else changes', async () => {
    await using store = await stores.open();
    await putAll(store, { format: WITHOUT });
    const storeId = await settleFormat(store);
    expect(await idIn(store)).toEqual({ format: FORMAT, since: 'later', storeId });
  });

  test.each([
    ['an empty store', undefined, 'The store is empty, and MUSTER_STORE_ID names one that was in use'],
    ['a store without an id', WITHOUT, 'give it that id with `muster init-store`'],
    ['another store', OTHER, 'The store is not the one that MUSTER_STORE_ID names'],
  ])('where it is expected, %s is refused, and nothing is written', async (_, format, words) => {
    await using store = await stores.open();
    if (format !== undefined) await putAll(store, { format });
    const before = await store.head();
    await expect(settleFormat(store, named())).rejects.toThrow(words);
    expect(await store.head()).toEqual(before);
  });

  test.each([
    ['an empty store', undefined],
    ['a store without an id', WITHOUT],
  ])('%s gets it on request, and is then the one that is expected', async (_, format) => {
    await using store = await stores.open();
    if (format !== undefined) await putAll(store, { format });
    expect(await settleFormat(store, named(true))).toBe('this-one');
    expect(await settleFormat(store, named())).toBe('this-one');
  });

  test('another store keeps its own, also on request', async () => {
    await using store = await stores.open();
    await putAll(store, { format: OTHER });
    await expect(settleFormat(store, named(true))).rejects.toThrow('not the one that MUSTER_STORE_ID names');
    expect((await store.get(KEYS.format))?.value).toBe(OTHER);
  });
});

/** The record of a replica of a version that did not tell which format it knows. */
const OLD_REPLICA = JSON.stringify({
  replicaId: 'old',
  startedAt: 1,
  version: '0.0.1',
  keyNumbers: [1],
  fingerprints: { 1: 'f' },
  clock: 1,
});

onEachStore('a format that is raised while an older replica runs', (stores) => {
  const TO_2 = { migrations: MIGRATIONS, format: 2 };

  /** Until it waits for the older one; where it goes on without, the test finds that. */
  async function asleep(clock: FakeClock, settling: Promise<unknown>): Promise<void> {
    let isOver = false;
    const over = (): void => void (isOver = true);
    settling.then(over, over);
    await until(() => isOver || clock.sleeping === 1);
  }

  test('is raised at once, and the records are migrated when the older one has gone', async () => {
    await using store = await stores.open();
    await putAll(store, { ...WORDS, [KEYS.replica('old')]: OLD_REPLICA });
    const clock = new FakeClock();
    const warned: string[] = [];
    const settling = settleFormat(store, { ...TO_2, clock, warn: (message) => void warned.push(message) });
    await asleep(clock, settling);
    expect((await store.get(KEYS.format))?.value).toBe('{"format":2,"storeId":"this-one","migratingFrom":1}');
    expect(await newerFormat(store, 1)).toBe(2);
    await expect(refuseNewerFormat(store, 1)).rejects.toThrow('written by a newer Muster (format 2');
    expect(await words(store)).toEqual(['one', 'two', 'three']);
    const entry = await store.get(KEYS.replica('old'));
    await store.commit({
      expect: [expectRevision(KEYS.replica('old'), entry?.revision ?? ABSENT)],
      write: [{ remove: KEYS.replica('old') }],
    });
    clock.advance(1000);
    await settling;
    expect(await words(store)).toEqual(['ONE', 'TWO', 'THREE']);
    expect((await store.get(KEYS.format))?.value).toBe('{"format":2,"storeId":"this-one"}');
    expect(warned).toEqual([
      'The store is to be brought to format 2, and there is 1 replica of an older version: this waits for it to end.',
    ]);
  });

  test('a replica that knows the format is not waited for', async () => {
    await using store = await stores.open();
    const knowing = JSON.stringify({ ...(JSON.parse(OLD_REPLICA) as object), format: 2 });
    await putAll(store, { ...WORDS, [KEYS.replica('new')]: knowing });
    await settleFormat(store, { ...TO_2, clock: new FakeClock() });
    expect(await words(store)).toEqual(['ONE', 'TWO', 'THREE']);
  });

  test('where the older one stays: refused in words after a minute, nothing migrated; the next start does it', async () => {
    await using store = await stores.open();
    await putAll(store, { ...WORDS, [KEYS.replica('old')]: OLD_REPLICA });
    const clock = new FakeClock();
    const settling = settleFormat(store, { ...TO_2, clock });
    const refused = settling.catch((error: unknown) => String(error));
    await asleep(clock, settling);
    clock.advance(59_999);
    await asleep(clock, settling);
    clock.advance(1000);
    expect(await refused).toContain('while there is 1 replica of an older version: end it');
    expect(await words(store)).toEqual(['one', 'two', 'three']);
    const entry = await store.get(KEYS.replica('old'));
    await store.commit({
      expect: [expectRevision(KEYS.replica('old'), entry?.revision ?? ABSENT)],
      write: [{ remove: KEYS.replica('old') }],
    });
    await settleFormat(store, { ...TO_2, clock });
    expect(await words(store)).toEqual(['ONE', 'TWO', 'THREE']);
    expect(await formatOf(store)).toBe(2);
  });

  test('a start that is asked to end meanwhile ends', async () => {
    await using store = await stores.open();
    await putAll(store, { ...WORDS, [KEYS.replica('old')]: OLD_REPLICA });
    const clock = new FakeClock();
    const ending = new AbortController();
    const settling = settleFormat(store, { ...TO_2, clock, signal: ending.signal });
    await asleep(clock, settling);
    ending.abort();
    await expect(settling).rejects.toThrow('aborted');
    expect(await words(store)).toEqual(['one', 'two', 'three']);
  });
});
