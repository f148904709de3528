import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { everything, keysOf, pageOf, present, put, removeAll, writes } from '../conformance/harness.ts';
import { held } from '../conformance/holds.ts';
import { record } from '../conformance/recorder.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const HOLD_AND_WAIT = join(import.meta.dirname, 'fixtures', 'hold-and-wait.ts');
const TTL_MS = 60_000;

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'muster-sqlite-'));
  file = join(directory, 'store.db');
});
afterEach(async () => rm(directory, { recursive: true, force: true }));

async function killedWhileHolding(...keys: string[]): Promise<string> {
  const child = spawn(process.execPath, [HOLD_AND_WAIT, file, ...keys], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  for await (const line of createInterface(child.stdout)) {
    said = line;
    child.kill('SIGKILL');
  }
  return said;
}

describe('keys that a killed process held', () => {
  test('are free with the next opening, however long they had to live', async () => {
    expect(await killedWhileHolding('t/leader', 't/presence')).toBe('held,held');
    expect(await killedWhileHolding('t/leader')).toBe('held');
    await using store = await openSqliteStore(file);
    expect(await everything(store, 't/')).toEqual([]);
    await held(store.hold(rawKey('t/leader'), 'next', TTL_MS));
  });

  test('are removed by a revision like others: head stays, history and watches tell', async () => {
    const before = await openSqliteStore(file);
    const start = await writes(before, put('t/kept'));
    await before[Symbol.asyncDispose]();
    await killedWhileHolding('t/leader', 't/presence');
    await using store = await openSqliteStore(file);
    // One revision for each of the holds, and one for what they left.
    const removal = start + 3;
    expect((await store.head()).revision).toBe(start);
    expect((await store.list({ prefix: 't/', limit: 10 })).revision).toBe(removal);
    expect(keysOf(pageOf(await store.listAt({ prefix: 't/', limit: 10 }, removal - 1)))).toEqual([
      't/kept',
      't/leader',
      't/presence',
    ]);
    using recording = await record(store, 't/', removal);
    await recording.recorder.untilChanges(2);
    expect(recording.recorder.changes).toEqual([
      { key: 't/leader', revision: removal, value: undefined },
      { key: 't/presence', revision: removal, value: undefined },
    ]);
    expect(await writes(store, put('t/kept'))).toBe(removal + 1);
  });
});

test('what somebody else wrote over a hold stays when the store is opened again', async () => {
  const before = await openSqliteStore(file);
  const first = await held(before.hold(rawKey('t/leader'), 'held', TTL_MS));
  const revision = await writes(before, put('t/leader', 'theirs'));
  expect(first.lost.aborted).toBe(true);
  await held(before.hold(rawKey('t/released'), 'v', TTL_MS)).then((hold) => hold.release());
  await writes(before, put('t/released', 'plain'));
  await before[Symbol.asyncDispose]();
  await using store = await openSqliteStore(file);
  expect(await present(store, 't/leader')).toMatchObject({ value: 'theirs', revision });
  expect(await present(store, 't/released')).toMatchObject({ value: 'plain' });
});

test('what was rewritten is still the holder’s, and removed by the next opening', async () => {
  const before = await openSqliteStore(file);
  const holder = await held(before.hold(rawKey('t/leader'), 'v', TTL_MS));
  expect(await holder.rewrite('w')).toBe('written');
  await before[Symbol.asyncDispose]();
  await using store = await openSqliteStore(file);
  expect(await store.get('t/leader')).toBeUndefined();
});

test('a holder is lost before anybody hears of the commit that took its key', async () => {
  await using store = await openSqliteStore(':memory:');
  const holder = await held(store.hold(rawKey('t/leader'), 'v', TTL_MS));
  const [next, removal] = await Promise.all([
    writes(store, removeAll('t/')).then(async () => holder.lost.aborted),
    writes(store, put('t/other')),
  ]);
  expect([next, removal]).toEqual([true, expect.any(Number)]);
});

test('a hold of the turn in which the one before is removed is not lost with it', async () => {
  await using store = await openSqliteStore(':memory:');
  const first = await held(store.hold(rawKey('t/leader'), 'first', TTL_MS));
  const [, second] = await Promise.all([
    writes(store, removeAll('t/')),
    store.hold(rawKey('t/leader'), 'second', TTL_MS),
  ]);
  expect(first.lost.aborted).toBe(true);
  expect(second).toMatchObject({ lost: { aborted: false } });
  expect(await first.rewrite('late')).toBe('lost');
  await first.release();
  expect(await present(store, 't/leader')).toMatchObject({ value: 'second' });
});

describe('what is retained', () => {
  const BYTES = 'x'.repeat(1000);

  async function grow(store: Store, times: number): Promise<void> {
    for (let index = 0; index < times; index += 1) await writes(store, put('t/a', `${index}${BYTES}`));
  }
  const listed = async (store: Store, revision: number) => store.listAt({ prefix: 't/', limit: 1 }, revision);

  test('is not forgotten for its size, and is once nobody retains it', async () => {
    await using store = await openSqliteStore(':memory:', { historyBytesMax: 20_000 });
    const [older, revision] = [await writes(store, put('t/a', 'older')), await writes(store, put('t/a', 'then'))];
    const retained = store.retain(revision);
    await grow(store, 200);
    expect(pageOf(await listed(store, revision)).entries).toMatchObject([{ value: 'then' }]);
    expect(await listed(store, older)).toBe('compacted');
    retained[Symbol.dispose]();
    expect(await listed(store, revision)).toBe('compacted');
    expect(await listed(store, (await store.head()).revision - 1)).not.toBe('compacted');
  });

  test('is forgotten all the same past a bound, and holds up no compaction then', async () => {
    await using store = await openSqliteStore(':memory:', { historyBytesMax: 20_000, retainedBytesMax: 100_000 });
    const revision = await writes(store, put('t/a', 'then'));
    using _ = store.retain(revision);
    await grow(store, 20);
    expect(await listed(store, revision)).not.toBe('compacted');
    await grow(store, 100);
    expect(await listed(store, revision)).toBe('compacted');
    const now = (await store.head()).revision;
    expect(await store.compact(now)).toBe(now);
  });
});

test('a key that could not be removed when it was released gives way to the next holder', async () => {
  const store = await openSqliteStore(file);
  const holder = await held(store.hold(rawKey('t/leader'), 'v', TTL_MS));
  // A removal in one transaction with what SQLite refuses is undone with it.
  const untyped = expectAbsent(undefined as unknown as string);
  const failing = store.commit({ expect: [untyped], write: [put('t/b')] }).catch((error: unknown) => error);
  await holder.release();
  expect(await failing).toMatchObject({ reason: 'failed' });
  expect(await present(store, 't/leader')).toMatchObject({ value: 'v' });
  const next = await held(store.hold(rawKey('t/leader'), 'next', TTL_MS));
  expect(await present(store, 't/leader')).toMatchObject({ value: 'next', revision: next.revision });
  await store[Symbol.asyncDispose]();
});
