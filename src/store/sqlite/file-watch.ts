import { statSync } from 'node:fs';
import { StoreUnavailable } from '../port.ts';

/** How often a store without commits looks whether its file is still there. */
const LOOK_EVERY_MS = 1000;

/**
 * Watches whether the files of an open database are still those at its path, as this process left them. SQLite goes on
 * writing into a file that was removed or replaced, mixes its pages into one that was copied over it, and says nothing:
 * what it then acknowledges is gone or damaged.
 */
export class FileWatch {
  readonly #files: { readonly path: string; readonly identity: string; written: string }[];
  readonly #looking: NodeJS.Timeout;
  #replaced = false;

  /** @param path of a database that is open, so that its write-ahead log is there */
  constructor(path: string) {
    const paths = path === ':memory:' ? [] : [path, `${path}-wal`];
    this.#files = paths.map((file) => ({ path: file, ...lookAt(file) }));
    this.#looking = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  /** The error for a call on files that were not the same when they were last looked at. */
  trouble(operation: string): StoreUnavailable | undefined {
    if (!this.#replaced) return undefined;
    const words = 'the file of the store was removed, replaced or overwritten while it was open';
    return new StoreUnavailable('replaced', `${operation}: ${words}`);
  }

  /** @throws StoreUnavailable `replaced` */
  assertThere(operation: string): void {
    const trouble = this.trouble(operation);
    if (trouble) throw trouble;
  }

  /**
   * Writes into the files at the path, and into no others: it looks before and after, two calls of a few microseconds
   * each. What went into files that were replaced meanwhile is not undone; `trouble` then tells of it.
   * @throws StoreUnavailable `replaced`, when nothing was written; the error of `write`
   */
  writing<T>(operation: string, write: () => T): T {
    this.#look();
    this.assertThere(operation);
    try {
      return write();
    } finally {
      this.#wrote();
    }
  }

  close(): void {
    clearInterval(this.#looking);
  }

  /** A file that was moved away and back, and not written meanwhile, is the same again. */
  #look(): void {
    this.#replaced = this.#files.some(({ path, identity, written }) => {
      const now = lookAt(path);
      return now.identity !== identity || now.written !== written;
    });
  }

  /** Takes note of what this process wrote itself. */
  #wrote(): void {
    for (const file of this.#files) {
      const { identity, written } = lookAt(file.path);
      if (identity === file.identity) file.written = written;
      else this.#replaced = true;
    }
  }
}

/** Device and inode, and the time and size of the last write; `none` where there is no file, or it cannot be read. */
function lookAt(path: string): { readonly identity: string; readonly written: string } {
  try {
    const { dev, ino, mtimeNs, size } = statSync(path, { bigint: true });
    return { identity: `${dev}:${ino}`, written: `${mtimeNs}:${size}` };
  } catch {
    return { identity: 'none', written: 'none' };
  }
}
