import { statSync } from 'node:fs';
import { StoreUnavailable } from '../port.ts';

/**
 * Tells whether the files of an open database are still those at its path. SQLite goes on writing into a file that was
 * removed or replaced, and says nothing: what it then acknowledges is gone with the process.
 */
export class FileWatch {
  readonly #files: readonly (readonly [path: string, identity: string])[];

  /** @param path of a database that is open, so that its write-ahead log is there */
  constructor(path: string) {
    this.#files = path === ':memory:' ? [] : [path, `${path}-wal`].map((file) => [file, identityOf(file)] as const);
  }

  /** Looks at the file system: two calls of a few microseconds. */
  isReplaced(): boolean {
    return this.#files.some(([path, identity]) => identityOf(path) !== identity);
  }
}

/** Device and inode; `none` where there is no file, or it cannot be looked at any more. */
function identityOf(path: string): string {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return 'none';
  }
}

/** How often a store without commits looks whether its file is still there. */
export const LOOK_EVERY_MS = 1000;

/** The trouble of an operation that came upon another file. */
export const replacedBefore = (operation: string): StoreUnavailable =>
  new StoreUnavailable('replaced', `${operation}: the file of the store was removed or replaced while it was open`);
