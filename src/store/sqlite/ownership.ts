import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { StoreUnavailable } from '../port.ts';

/* Tells whose database a file is: only ours are opened for writing. */

/** `Mstr` as SQLite keeps it in the header of the file (https://sqlite.org/fileformat2.html, Application ID). */
const APPLICATION_ID = 0x4d_73_74_72;
/** The layout of the tables; a later one that this program cannot read gets a greater number. */
const LAYOUT = 1;
const OWN_TABLES: ReadonlySet<string> = new Set(['entries', 'counters', 'held']);
/** A file without an application id is ours where it has these, as the versions before the id left it. */
const TOLD_BY: readonly string[] = ['entries', 'counters'];
const NOT_A_DATABASE = 26;

/**
 * Refuses the file of another program before anything of it is touched, its mode and its write-ahead log included.
 * Whatever else is wrong with it is left to the opening.
 * @throws StoreUnavailable `refused`
 */
export function refuseForeignFile(path: string): void {
  if (!existsSync(path) || !statSync(path).isFile() || statSync(path).size === 0) return;
  const url = pathToFileURL(path);
  // Without locks, and without the write-ahead log, which reading would create.
  url.searchParams.set('immutable', '1');
  refuse(path, foreignFileInWords(url));
  // The tables of a process that was killed may be in the log alone. A reader cannot move them into the file when it
  // closes; an opening for writing would.
  if (isFilled(`${path}-wal`)) refuse(path, foreignFileInWords(pathToFileURL(path)));
}

function foreignFileInWords(url: URL): string | undefined {
  try {
    const database = new DatabaseSync(url, { readOnly: true });
    try {
      return foreignInWords(database);
    } finally {
      database.close();
    }
  } catch (error) {
    const isDatabase = !(error instanceof Error && 'errcode' in error && error.errcode === NOT_A_DATABASE);
    return isDatabase ? undefined : 'is no SQLite file';
  }
}

/**
 * Refuses the database of another program, once nobody else writes it. @throws StoreUnavailable `refused`; the error of
 * SQLite
 */
export function refuseForeign(database: DatabaseSync, path: string): void {
  refuse(path, foreignInWords(database));
}

/** The statements that mark a new database, and one without a mark, as ours; empty where it is marked. */
export function markingOf(database: DatabaseSync): string {
  if (pragma(database, 'application_id') === APPLICATION_ID) return '';
  return `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${LAYOUT};`;
}

const isFilled = (path: string): boolean => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;

function refuse(path: string, found: string | undefined): void {
  if (found === undefined) return;
  throw new StoreUnavailable('refused', `${path} ${found}, and is left as it is: set MUSTER_STORE to another path`);
}

function foreignInWords(database: DatabaseSync): string | undefined {
  const [id, layout] = [pragma(database, 'application_id'), pragma(database, 'user_version')];
  if (id === APPLICATION_ID) return layout > LAYOUT ? 'is the store of a newer Muster' : undefined;
  const tables = database
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
    .all()
    .map(({ name }) => String(name));
  const isBefore = TOLD_BY.every((name) => tables.includes(name)) && tables.every((name) => OWN_TABLES.has(name));
  if (id === 0 && layout === 0 && (tables.length === 0 || isBefore)) return undefined;
  return 'is the SQLite file of another program';
}

function pragma(database: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}
