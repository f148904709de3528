import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { FORMAT } from '../../../src/domain/records/store-records.ts';
import { fencedByFormat } from '../../../src/domain/replicas/format-fence.ts';
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
  const fenced = fencedByFormat(counted, () => registration);
  const readsOf = async (key: string): Promise<number> => {
    const before = counted.calls.get;
    expect((await write(fenced, key)).outcome).toBe('committed');
    return counted.calls.get - before;
  };
  expect([await readsOf('t/1'), await readsOf('t/2')], 'registered').toEqual([1, 0]);
  registration = undefined;
  expect([await readsOf('t/3'), await readsOf('t/4')], 'away').toEqual([1, 1]);
  registration = {};
  expect([await readsOf('t/5'), await readsOf('t/6')], 'back').toEqual([1, 0]);
});

test('nothing is committed over a newer format by a replica that was away', async () => {
  await using store = await openSqliteStore(':memory:');
  let registration: object | undefined = {};
  const fenced = fencedByFormat(store, () => registration);
  await write(fenced, 't/1');
  await write((change) => store.commit(change), KEYS.format(), { format: FORMAT + 1 });
  for (const after of [undefined, {}]) {
    registration = after;
    await expect(write(fenced, 't/2')).rejects.toMatchObject({ name: 'StoreUnavailable', reason: 'failed' });
  }
  expect(await store.get('t/2')).toBeUndefined();
});
