import { expect, test } from 'vitest';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { FORMAT } from '../../../src/domain/records/store-records.ts';
import { newerFormat, refuseNewerFormat, settleFormat } from '../../../src/domain/replicas/format.ts';
import { StoreIdentity } from '../../../src/domain/replicas/store-identity.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { rawKey } from '../../support/store/raw-key.ts';

async function putAll(store: Store, entries: Readonly<Record<string, string>>): Promise<void> {
  const write = Object.entries(entries).map(([key, value]) => ({ put: rawKey(key), value }));
  const { outcome } = await store.commit({ expect: [expectAbsent('never')], write });
  expect(outcome).toBe('committed');
}

async function formatOf(store: Store): Promise<number | undefined> {
  const entry = await store.get(KEYS.format());
  return entry && parseRecord(KEYS.format, entry).record.format;
}

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
      await putAll(store, { [KEYS.activeKey()]: '{}' });
      const before = await store.head();
      await expect(settleFormat(store, settling)).rejects.toThrow('has lost the one of their format');
      expect([await store.get(KEYS.format()), await store.head()]).toEqual([undefined, before]);
    },
  );

  test('a format that another replica makes meanwhile, with records of its own, is taken', async () => {
    await using store = await stores.open();
    let isAsked = false;
    const late = wrappedStore(store, {
      async list(request) {
        if (!isAsked) await putAll(store, { [KEYS.format()]: `{"format":${FORMAT},"storeId":"theirs"}`, other: '{}' });
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
    await refuseNewerFormat(store);
    expect(await newerFormat(store)).toBeUndefined();
    expect(await store.head()).toEqual(before);
  });

  test('a newer one is refused in words, and nothing is touched', async () => {
    await using store = await stores.open();
    await putAll(store, { format: `{"format":${FORMAT + 1}}`, 'word/a': 'one' });
    const before = await store.head();
    const words = `The store was written by a newer Muster (format ${FORMAT + 1}; this program knows up to ${FORMAT}).`;
    await expect(settleFormat(store)).rejects.toThrow(words);
    await expect(refuseNewerFormat(store)).rejects.toThrow(words);
    expect(await newerFormat(store)).toBe(FORMAT + 1);
    expect(await store.head()).toEqual(before);
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
  const idIn = async (store: Store): Promise<unknown> => JSON.parse((await store.get(KEYS.format()))?.value ?? 'null');
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
    expect((await store.get(KEYS.format()))?.value).toBe(OTHER);
  });
});
