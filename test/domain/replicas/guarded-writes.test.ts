import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { FORMAT } from '../../../src/domain/records/store-records.ts';
import { guardedWrites } from '../../../src/domain/replicas/guarded-writes.ts';
import { expectAbsent, type CommitResult, type Store } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { rawPut } from '../../support/store/raw-key.ts';

const write = (commit: Store['commit'], key: string, value: object = {}): Promise<CommitResult> =>
  commit({ expect: [expectAbsent(key)], write: [rawPut(key, value)] });

test('a replica reads the format before the first commit of each registration, and before each commit while it has none', async () => {
  await using store = await openSqliteStore(':memory:');
  const counted = faultyStore(store);
  let registration: object | undefined = {};
  const { commit } = guardedWrites(counted, () => registration);
  const readsOf = async (key: string): Promise<number> => {
    const before = counted.calls.get;
    expect((await write(commit, key)).outcome).toBe('committed');
    return counted.calls.get - before;
  };
  expect([await readsOf(KEYS.keyUses('1')), await readsOf(KEYS.keyUses('2'))], 'registered').toEqual([1, 0]);
  registration = undefined;
  expect([await readsOf(KEYS.keyUses('3')), await readsOf(KEYS.keyUses('4'))], 'away').toEqual([1, 1]);
  registration = {};
  expect([await readsOf(KEYS.keyUses('5')), await readsOf(KEYS.keyUses('6'))], 'back').toEqual([1, 0]);
});

test('nothing is committed over a newer format by a replica that was away', async () => {
  await using store = await openSqliteStore(':memory:');
  let registration: object | undefined = {};
  const { commit } = guardedWrites(store, () => registration);
  await write(commit, KEYS.keyUses('1'));
  await write((change) => store.commit(change), KEYS.format(), { format: FORMAT + 1 });
  for (const after of [undefined, {}]) {
    registration = after;
    await expect(write(commit, KEYS.keyUses('2'))).rejects.toMatchObject({
      name: 'StoreUnavailable',
      reason: 'failed',
    });
  }
  expect(await store.get(KEYS.keyUses('2'))).toBeUndefined();
});
