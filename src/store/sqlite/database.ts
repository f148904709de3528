import { chmodSync, closeSync, openSync, rmSync, statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { ABSENT, StoreUnavailable, type Entry, type Key, type StoreTrouble } from '../port.ts';
import { MEMORY } from './location.ts';
import { markingOf, refuseForeign, refuseForeignFile } from './ownership.ts';

/* The database file: opening it, the statements on it, and how it forgets. Everything here is synchronous. */

/** With SQLite's own 2 MiB a store of any size reads the same pages again and again, and a row costs twice as much. */
const CACHE_KIB = 64 * 1024;
/** Pages written again and again between two checkpoints are copied once. More would make the pause for it longer. */
export const CHECKPOINT_PAGES = 4000;
export const PAGE_BYTES = 4096;

/**
 * New rows go to the end of the table, so that those of one transaction lie on few pages; only the small entries of the
 * key's index are scattered. A table clustered by key (WITHOUT ROWID) scatters the values too: creates of five random
 * keys each took 2.2 times as long. `revision` stands before `value`, so that reading it never follows a long value.
 *
 * `held` names the keys that live as long as this process, with the revision at which a holder wrote each: a key that
 * another writer has written since is no longer a holder's. A released key may remain there, without any meaning.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL, value TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS held (key TEXT PRIMARY KEY, revision INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO counters VALUES ('revision', 0) ON CONFLICT DO NOTHING;
`;

const SELECT_RANGE = 'SELECT key, value, revision FROM entries WHERE key >= ? AND key < ? ORDER BY key';
const SELECT_KEYS = `SELECT key, '', revision FROM entries WHERE key >= ? AND key < ? ORDER BY key`;

type Row = readonly [key: string, value: string, revision: number];

/** The result codes of SQLite that are told apart (https://sqlite.org/rescode.html). */
const BUSY = 5;
const TROUBLES: Readonly<Record<number | string, StoreTrouble>> = {
  8: 'readonly',
  11: 'corrupt',
  13: 'full',
  26: 'corrupt',
  EROFS: 'readonly',
  EACCES: 'readonly',
  EPERM: 'readonly',
};
const SENTENCES: Partial<Record<StoreTrouble, string>> = {
  readonly: 'the store cannot be written; give this process a disk and a file that it may write',
  corrupt: 'the store is corrupt; restore a backup (docs/OPERATIONS.md, "A damaged store")',
};

/**
 * A start checks a store of at most this size: the check reads it whole, a second or less. The doctor checks any size.
 */
const CHECKED_BYTES_MAX = 256 * 1024 * 1024;

/** Keys are printable ASCII, so this sorts after every key with the prefix and before every other one that follows. */
export const endOf = (prefix: string): string => `${prefix}\x7F`;

export class Database {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #selectOne: StatementSync;
  readonly #selectRevision: StatementSync;
  readonly #selectRange: StatementSync;
  readonly #selectKeys: StatementSync;
  readonly #selectPage: StatementSync;
  readonly #selectPageOfKeys: StatementSync;
  readonly #upsert: StatementSync;
  readonly #deleteOne: StatementSync;
  readonly #deleteRange: StatementSync;
  readonly #updateCounter: StatementSync;
  readonly #upsertHeld: StatementSync;
  readonly #selectHeld: StatementSync;

  /**
   * Takes the file for this process alone.
   * @param checked whether a large file is checked, too
   * @throws StoreUnavailable `refused` when another process holds it or it is another program's, `corrupt`, `readonly`,
   *   or `failed` when it cannot be opened
   */
  constructor(path: string, pagesMax: number | undefined, checked: boolean) {
    this.#path = path;
    this.#database = opened(path, pagesMax, checked);
    this.#begin = this.#database.prepare('BEGIN IMMEDIATE');
    this.#commit = this.#database.prepare('COMMIT');
    this.#selectOne = this.#rows('SELECT key, value, revision FROM entries WHERE key = ?');
    this.#selectRevision = this.#rows('SELECT revision FROM entries WHERE key = ?');
    this.#selectRange = this.#rows(SELECT_RANGE);
    this.#selectKeys = this.#rows(SELECT_KEYS);
    this.#selectPage = this.#rows(`${SELECT_RANGE} LIMIT ?`);
    this.#selectPageOfKeys = this.#rows(`${SELECT_KEYS} LIMIT ?`);
    this.#upsert = this.#database.prepare(`INSERT INTO entries (key, value, revision) VALUES (?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value, revision = excluded.revision`);
    this.#deleteOne = this.#database.prepare('DELETE FROM entries WHERE key = ?');
    this.#deleteRange = this.#database.prepare('DELETE FROM entries WHERE key >= ? AND key < ?');
    this.#updateCounter = this.#database.prepare(`UPDATE counters SET value = ? WHERE name = 'revision'`);
    this.#upsertHeld = this.#database.prepare(`INSERT INTO held (key, revision) VALUES (?, ?)
      ON CONFLICT (key) DO UPDATE SET revision = excluded.revision`);
    this.#selectHeld = this.#rows('SELECT key, revision FROM held CROSS JOIN entries USING (key, revision)');
  }

  /** The revision of the newest commit on disk. It has a row of its own: the entry that bore it may be gone. */
  revision(): number {
    return this.#number(`SELECT value FROM counters WHERE name = 'revision'`);
  }

  get(key: string): Entry | undefined {
    const row = this.#selectOne.get(key) as Row | undefined;
    return row && entryOf(row);
  }

  revisionOf(key: string): number {
    const row = this.#selectRevision.get(key) as readonly [number] | undefined;
    return row === undefined ? ABSENT : row[0];
  }

  /** Entries from `start` to before `end`. Use the generator up or return it at once: an open cursor pins the WAL. */
  *range(start: string, end: string, keysOnly = false): Generator<Entry, undefined> {
    const select = keysOnly ? this.#selectKeys : this.#selectRange;
    for (const row of select.iterate(start, end)) yield entryOf(row as unknown as Row);
  }

  /** As `range`, at most `limit` entries at once: it takes half the time. */
  page(start: string, end: string, limit: number, keysOnly = false): Entry[] {
    const select = keysOnly ? this.#selectPageOfKeys : this.#selectPage;
    return (select.all(start, end, limit) as unknown as Row[]).map(entryOf);
  }

  put({ key, value, revision }: Entry): void {
    this.#upsert.run(key, value, revision);
  }

  remove(key: string): void {
    this.#deleteOne.run(key);
  }

  /** Notes that the key lives as long as this process, unless it is written again without a note. */
  noteHeld(key: string, revision: number): void {
    this.#upsertHeld.run(key, revision);
  }

  /** The keys that a holder was the last to write, with their revisions. */
  held(): Map<string, number> {
    return new Map(this.#selectHeld.all() as unknown as [key: string, revision: number][]);
  }

  forgetHeld(): void {
    this.#database.exec('DELETE FROM held');
  }

  removeAll(prefix: string): void {
    this.#deleteRange.run(prefix, endOf(prefix));
  }

  /** Runs the work in one disk transaction, which leaves the store at the revision that it returns. */
  transaction<T>(work: () => { readonly revision: number; readonly results: T }): T {
    this.#begin.run();
    try {
      const { revision, results } = work();
      this.#updateCounter.run(revision);
      this.#commit.run();
      return results;
    } catch (error) {
      // Some errors have rolled back already; then a second time would fail and hide the first error.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  /**
   * Leaves no byte of a removed or overwritten value in the files. The checkpoint empties the write-ahead log.
   * `secure_delete` overwrites what is deleted, but not the copies that SQLite itself makes: when a page is split or
   * merged, cells move to a neighbour and the bytes they came from stay as they were, in the unallocated middle of the
   * page (`rebuildPage` in btree.c). Where the file held deletions since it was last rebuilt, it is therefore built
   * anew by VACUUM, which starts from zeroed pages: about 10 ms per MiB, during which nothing else runs, and for that
   * while as much memory and room in the log as the store is large.
   */
  forget(rebuild: boolean): void {
    if (rebuild) this.#database.exec('VACUUM');
    const [busy] = this.#rows('PRAGMA wal_checkpoint(TRUNCATE)').get() as unknown as readonly [number];
    if (busy !== 0) throw new StoreUnavailable('failed', `compact: the write-ahead log of ${this.#path} is in use`);
  }

  pagesInUse(): number {
    return this.#number('PRAGMA page_count') - this.pagesFree();
  }

  /** Pages of the file that hold nothing, for later writes. */
  pagesFree(): number {
    return this.#number('PRAGMA freelist_count');
  }

  /** @throws Error of SQLite */
  pragma(text: string): void {
    this.#database.exec(`PRAGMA ${text}`);
  }

  close(): void {
    this.#database.close();
  }

  #number(sql: string): number {
    const [value] = this.#rows(sql).get() as unknown as readonly [number];
    return value;
  }

  /** A statement whose rows are arrays: cheaper than objects. */
  #rows(sql: string): StatementSync {
    const statement = this.#database.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  }
}

function entryOf([key, value, revision]: Row): Entry {
  return { key: key as Key, value, revision };
}

/** The number of pages that fit into so many bytes; at least those of an empty store. */
export const pagesIn = (bytes: number): number => Math.max(16, Math.floor(bytes / PAGE_BYTES));

function opened(path: string, pagesMax: number | undefined, checked: boolean): DatabaseSync {
  if (path !== MEMORY) {
    refuseForeignFile(path);
    makePrivate(path);
  }
  const database = openedFile(path);
  try {
    // The lock comes first, so that nothing of a store that another process holds is read or changed.
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    refuseForeign(database, path);
    // The index of the log, as a reader before it made it; with the lock this process keeps its own in memory.
    if (path !== MEMORY) rmSync(`${path}-shm`, { force: true });
    database.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
    database.exec('PRAGMA journal_mode = WAL');
    database.exec('PRAGMA synchronous = FULL');
    database.exec('PRAGMA secure_delete = ON');
    // VACUUM builds its copy here: a temporary file would be one more place that held the values.
    database.exec('PRAGMA temp_store = MEMORY');
    database.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
    database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    if (pagesMax !== undefined) database.exec(`PRAGMA max_page_count = ${pagesMax}`);
    database.exec(`BEGIN IMMEDIATE; ${SCHEMA} ${markingOf(database)} COMMIT`);
    if (checked || sizeOf(path) <= CHECKED_BYTES_MAX) check(database);
    return database;
  } catch (error) {
    database.close();
    if (codeOf(error) === BUSY) {
      throw new StoreUnavailable('refused', `the store ${path} is in use by another process`, { cause: error });
    }
    throw unavailable(`open ${path}`, error);
  }
}

function openedFile(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path);
  } catch (error) {
    throw unavailable(`open ${path}`, error);
  }
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Reads every page, at about 0.5 GiB a second from memory. @throws StoreUnavailable `corrupt` */
function check(database: DatabaseSync): void {
  const found = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
  if (found !== 'ok') throw new StoreUnavailable('corrupt', `${SENTENCES.corrupt} (${String(found)})`);
}

/** Creates the file as ours alone; SQLite gives the files beside it the same mode. */
function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    // It is not opened when it exists: closing it would release the locks that a store of this process has on it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unavailable(`create ${path}`, error);
    chmodSync(path, 0o600);
  }
}

function codeOf(error: unknown): number | undefined {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
  // The low byte is the result code; the rest says more about it.
  return typeof code === 'number' ? code & 0xff : undefined;
}

/** The error of SQLite as one of the port. SQLite's messages name files and constraints, never values. */
export function unavailable(operation: string, error: unknown): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error;
  const code = codeOf(error) ?? (error as NodeJS.ErrnoException).code ?? '';
  const reason = TROUBLES[code] ?? 'failed';
  const detail = error instanceof Error ? error.message : String(error);
  const words = reason in SENTENCES ? `${SENTENCES[reason]} (${detail})` : detail;
  return new StoreUnavailable(reason, `${operation}: ${words}`, { cause: error });
}
