import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { expectRevision } from '../../../src/store/entry.ts';
import { expectAbsent, type Change, type StoreUnavailable } from '../../../src/store/port.ts';
import { FileWatch } from '../../../src/store/sqlite/file-watch.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import { rawKey } from '../../support/store/raw-key.ts';

/* The file of an embedded store: whose it is, whether it is whole, and whether it is still there. */

let directory: string;
let file: string;
/** A store that another process left. */
let other: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-files-'));
  file = join(directory, 'muster.db');
  other = join(directory, 'other.db');
});
afterEach(() => {
  vi.useRealTimers();
  // One test removes it itself.
  rmSync(directory, { recursive: true, force: true });
});

const create = (key: string, value = 'v'): Change => ({
  expect: [expectAbsent(key)],
  write: [{ put: rawKey(key), value }],
});
const reasonOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'none',
    (error: unknown) => (error as StoreUnavailable).reason,
  );

/** Copies a database that is open in WAL mode: the files are those that the kill of its process leaves. */
function copyAsKilled(from: string): void {
  copyFileSync(from, file);
  copyFileSync(`${from}-wal`, `${file}-wal`);
}

function overwrite(from: number, bytes: number, path = file): void {
  const open = openSync(path, 'r+');
  writeSync(open, Buffer.alloc(bytes, 0xa5), 0, bytes, from);
  closeSync(open);
}

describe('a file that is removed or replaced while it is open', () => {
  test.each<[string, () => void]>([
    ['removed', () => rmSync(file)],
    [
      'replaced by a copy',
      () => {
        copyFileSync(file, `${file}.copy`);
        renameSync(`${file}.copy`, file);
      },
    ],
    ['overwritten by a copy', () => copyFileSync(other, file)],
    ['overwritten in part', () => overwrite(4096, 4096)],
    ['without its write-ahead log', () => rmSync(`${file}-wal`)],
    ['gone with its directory', () => rmSync(directory, { recursive: true })],
  ])('takes no acknowledged write any more: %s', async (_, act) => {
    await (await openSqliteStore(other))[Symbol.asyncDispose]();
    await using store = await openSqliteStore(file);
    await store.commit(create('before'));
    act();
    expect(await reasonOf(store.commit(create('after')))).toBe('replaced');
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      get: () => store.get('before'),
      list: () => store.list({ prefix: '', limit: 1 }),
      head: () => store.head(),
      commit: () => store.commit(create('later')),
      hold: () => store.hold(rawKey('held'), 'v', 1000),
      compact: () => store.compact(1),
    };
    for (const [name, call] of Object.entries(calls))
      expect([name, await reasonOf(call())]).toEqual([name, 'replaced']);
  });

  test('is noticed within a second without any call, and a file that comes back is the store again', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    await using store = await openSqliteStore(file);
    await store.commit(create('before'));
    renameSync(file, `${file}.away`);
    expect(store.headNow?.()).toMatchObject({ revision: 1 });
    vi.advanceTimersByTime(1000);
    expect(() => store.headNow?.()).toThrow('removed, replaced or overwritten');
    renameSync(`${file}.away`, file);
    vi.advanceTimersByTime(1000);
    expect(await store.get('before')).toMatchObject({ value: 'v' });
    expect(await store.commit(create('after'))).toMatchObject({ outcome: 'committed' });
  });

  test('is left as it is where it was overwritten', async () => {
    await (await openSqliteStore(other))[Symbol.asyncDispose]();
    await using store = await openSqliteStore(file);
    await store.commit(create('before'));
    copyFileSync(other, file);
    expect(await reasonOf(store.commit(create('after')))).toBe('replaced');
    expect(await reasonOf(store.compact(1))).toBe('replaced');
    expect(readFileSync(file).equals(readFileSync(other))).toBe(true);
  });

  test('is not confused with what this process writes: commits, compactions, and keys that end with a process', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    {
      await (await openSqliteStore(file))[Symbol.asyncDispose]();
      const raw = new DatabaseSync(file);
      raw.exec(`INSERT INTO entries (key, value, revision) VALUES ('held/a', 'v', 1)`);
      raw.exec(`INSERT INTO held (key, revision) VALUES ('held/a', 1); UPDATE counters SET value = 1`);
      raw.close();
    }
    await using store = await openSqliteStore(file);
    expect(await store.get('held/a')).toBeUndefined();
    // Enough for SQLite to move its log into the file by itself.
    for (let round = 0; round < 6; round += 1) {
      const changes = Array.from({ length: 50 }, (_, n) => create(`k/${round}/${n}`, 'x'.repeat(30_000)));
      await Promise.all(changes.map((change) => store.commit(change)));
      vi.advanceTimersByTime(1000);
      if (round % 3 === 0) await store.compact(round);
    }
    expect(await entriesOf(store, 'k/')).toHaveLength(300);
  });

  const touch = (path: string, at: number): void => utimesSync(path, at, at);
  test.each<[string, () => void]>([
    ['touched', () => touch(file, Date.now() / 1000 + 5)],
    ['given an older time', () => touch(file, 1)],
    ['touched in its write-ahead log', () => touch(`${file}-wal`, 1)],
    ['given another mode', () => chmodSync(file, 0o640)],
    ['read', () => void readFileSync(file)],
    ['written again with its own content', () => writeFileSync(file, readFileSync(file))],
  ])('is the store as before where it was only %s', async (_, act) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    await using store = await openSqliteStore(file);
    await store.commit(create('before'));
    await store.commit({ expect: [expectRevision('before', 1)], write: [{ remove: rawKey('before') }] });
    for (const [round, again] of [act, act].entries()) {
      await store.compact(2 + 2 * round);
      await store.commit(create(`more/${round}`));
      // The content that this process left is learnt while nothing is written.
      vi.advanceTimersByTime(3000);
      again();
      vi.advanceTimersByTime(1000);
      expect(store.headNow?.()).toMatchObject({ revision: 3 + 2 * round });
      expect(await store.commit(create(`after/${round}`))).toMatchObject({ outcome: 'committed' });
      expect(await store.get(`more/${round}`)).toMatchObject({ value: 'v' });
    }
  });

  test.each<[string, () => void]>([
    ['an older copy of itself', () => writeFileSync(file, readFileSync(`${file}.older`))],
    ['another page', () => overwrite(8192, 4096)],
    ['another page in its write-ahead log', () => overwrite(4096, 100, `${file}-wal`)],
  ])('is not the store any more where its content is known, and is %s of the same size', async (_, act) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    await using store = await openSqliteStore(file);
    await store.commit(create('one', 'x'.repeat(20_000)));
    await store.compact(1);
    copyFileSync(file, `${file}.older`);
    await store.commit({
      expect: [expectRevision('one', 1)],
      write: [{ put: rawKey('one'), value: 'y'.repeat(20_000) }],
    });
    await store.compact(2);
    await store.commit(create('two'));
    vi.advanceTimersByTime(3000);
    const before = statSync(file).size;
    act();
    expect(statSync(file).size).toBe(before);
    expect(await reasonOf(store.commit(create('after')))).toBe('replaced');
    vi.advanceTimersByTime(3000);
    expect(() => store.headNow?.()).toThrow('removed, replaced or overwritten');
  });

  test('is told where that happens during a write, too', () => {
    writeFileSync(file, 'database');
    writeFileSync(`${file}-wal`, 'log');
    const watch = new FileWatch(file);
    expect(watch.writing('commit', () => rmSync(file))).toBeUndefined();
    expect(watch.trouble('commit')).toMatchObject({ reason: 'replaced' });
    watch.close();
  });

  test('a store in memory has no file, and is not looked for', async () => {
    await using store = await openSqliteStore(':memory:');
    expect(await store.commit(create('k'))).toMatchObject({ outcome: 'committed' });
  });
});

describe('a damaged file', () => {
  async function filled(): Promise<void> {
    await using store = await openSqliteStore(file);
    for (let n = 0; n < 100; n += 1) await store.commit(create(`key/${n}`, 'x'.repeat(3000)));
  }
  test('is refused in words at the start, also where only 9 KB of it are overwritten', async () => {
    await filled();
    overwrite(40_960, 9_000);
    await expect(openSqliteStore(file)).rejects.toMatchObject({
      reason: 'corrupt',
      message: expect.stringContaining('the store is corrupt; restore a backup') as string,
    });
  });

  test('is refused where its beginning is overwritten', async () => {
    await filled();
    overwrite(100, 4_000);
    expect(await reasonOf(openSqliteStore(file))).toBe('corrupt');
  });

  test('that is whole is opened', async () => {
    await filled();
    await using store = await openSqliteStore(file, { checked: true });
    expect(await entriesOf(store, 'key/')).toHaveLength(100);
  });
});

describe('the file of another program', () => {
  const foreign = (sql: string): void => {
    const database = new DatabaseSync(file);
    database.exec(sql);
    database.close();
  };
  test.each([
    ['with tables of its own', 'CREATE TABLE notes (text TEXT)'],
    ['with an application id', 'PRAGMA application_id = 7; CREATE TABLE entries (key TEXT)'],
    ['with a version of its own', 'PRAGMA user_version = 7'],
    ['with one table more than ours', 'CREATE TABLE entries (k); CREATE TABLE counters (k); CREATE TABLE notes (k)'],
    ['in WAL mode', 'PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT)'],
  ])('is refused in words and left as it is: %s', async (_, sql) => {
    foreign(sql);
    await leftAlone('is the SQLite file of another program');
  });

  test('is refused and left as it is where its tables are in the write-ahead log alone', async () => {
    {
      using killed = new DatabaseSync(other);
      killed.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT)');
      copyAsKilled(other);
    }
    rmSync(other);
    const log = readFileSync(`${file}-wal`);
    await leftAlone('is the SQLite file of another program', ['muster.db', 'muster.db-shm', 'muster.db-wal']);
    expect(readFileSync(`${file}-wal`).equals(log)).toBe(true);
  });

  test('that is no database is refused and left as it is', async () => {
    writeFileSync(file, 'Dear diary, '.repeat(1000));
    await leftAlone('is no SQLite file');
  });

  async function leftAlone(words: string, files = ['muster.db']): Promise<void> {
    const [before, mode] = [readFileSync(file), statSync(file).mode];
    await expect(openSqliteStore(file)).rejects.toMatchObject({
      reason: 'refused',
      message: expect.stringContaining(words) as string,
    });
    expect(readFileSync(file).equals(before)).toBe(true);
    expect([readdirSync(directory), statSync(file).mode]).toEqual([files, mode]);
  }
});

describe('the file of Muster', () => {
  function header(): Record<string, number> {
    const bytes = readFileSync(file);
    return { applicationId: bytes.readUInt32BE(68), userVersion: bytes.readUInt32BE(60) };
  }
  const OURS = { applicationId: 0x4d737472, userVersion: 1 };

  test('says so, also after it was built anew', async () => {
    {
      await using store = await openSqliteStore(file);
      await store.commit(create('k'));
      await store.commit({ expect: [expectRevision('k', 1)], write: [{ remove: rawKey('k') }] });
      await store.compact(2);
    }
    expect(header()).toEqual(OURS);
  });

  test('that an earlier version left without an id is taken over with its entries', async () => {
    {
      await using store = await openSqliteStore(file);
      await store.commit(create('k'));
    }
    const database = new DatabaseSync(file);
    database.exec('PRAGMA application_id = 0; PRAGMA user_version = 0; DROP TABLE held');
    database.close();
    {
      await using store = await openSqliteStore(file);
      expect(await store.get('k')).toMatchObject({ value: 'v' });
    }
    expect(header()).toEqual(OURS);
  });

  test('that a killed process left with all it has in the write-ahead log is opened with its entries', async () => {
    {
      await using killed = await openSqliteStore(other);
      await killed.commit(create('k'));
      copyAsKilled(other);
    }
    expect(header(), 'nothing was moved from the log yet').toEqual({ applicationId: 0, userVersion: 0 });
    await using store = await openSqliteStore(file);
    expect(await store.get('k')).toMatchObject({ value: 'v' });
    expect(readdirSync(directory)).not.toContain('muster.db-shm');
  });

  test('of a newer layout is refused in words', async () => {
    await (await openSqliteStore(file))[Symbol.asyncDispose]();
    const database = new DatabaseSync(file);
    database.exec('PRAGMA user_version = 2');
    database.close();
    await expect(openSqliteStore(file)).rejects.toThrow('is the store of a newer Muster');
  });
});
