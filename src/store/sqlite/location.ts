import { lstatSync, realpathSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { StoreUnavailable } from '../port.ts';

/* The place of a database, as SQLite sees it. */

/** A store that ends with its disposal, for tests; no configuration can name it. */
export const MEMORY = ':memory:';

/**
 * The path of the file itself: SQLite follows a link and keeps the write-ahead log beside the file that it leads to, so
 * whatever is watched, removed or written beside the store belongs there. A relative path is refused: SQLite would read
 * one that begins with `file:` as a URI, whose options turn off the lock, the disk or the mode.
 * @throws StoreUnavailable `failed`
 */
export function fileOf(path: string): string {
  if (path === MEMORY) return path;
  if (!isAbsolute(path)) throw new StoreUnavailable('failed', 'open: the path of a store begins with /');
  try {
    return realpathSync(path);
  } catch (error) {
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    // A file that is not there yet is made under that very name.
    if (!isLink) return path;
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const words = `${path} is a link that leads to no file (${code}): remove it, or name the file itself`;
    throw new StoreUnavailable('failed', `open: ${words}`, { cause: error });
  }
}
