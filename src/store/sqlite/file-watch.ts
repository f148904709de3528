import { StoreUnavailable } from '../port.ts';
import { MEMORY } from './location.ts';
import { WatchedFile } from './watched-file.ts';

/** How often a store without commits looks whether its file is still there. */
const LOOK_EVERY_MS = 1000;

/**
 * Watches whether the files of an open database are still those at its path, as this process left them. SQLite goes on
 * writing into a file that was removed or replaced, mixes its pages into one that was copied over it, and says nothing:
 * what it then acknowledges is gone or damaged.
 */
export class FileWatch {
  readonly #files: readonly WatchedFile[];
  readonly #looking: NodeJS.Timeout;
  #replaced = false;

  /**
   * @param path of a database that is open, so that its write-ahead log is there
   * @param file to which the path leads; a link that leads elsewhere now is a replaced file, too
   */
  constructor(path: string, file = path) {
    const paths = path === MEMORY ? [] : [path, `${file}-wal`];
    this.#files = paths.map((file) => new WatchedFile(file));
    this.#looking = setInterval(() => this.#look('idly'), LOOK_EVERY_MS).unref();
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
    this.#look('before a write');
    this.assertThere(operation);
    try {
      return write();
    } finally {
      this.#wrote();
    }
  }

  /** To be called once the database is closed: it drops the locks that this process has on the file. */
  close(): void {
    clearInterval(this.#looking);
    for (const file of this.#files) file.close();
  }

  /** A file that was moved away and back, and not written meanwhile, is the same again. */
  #look(how: 'idly' | 'before a write'): void {
    const same = this.#files.map((file) => (how === 'idly' ? file.lookIdly() : file.isAsLeft()));
    this.#replaced = same.includes(false);
  }

  /** Takes note of what this process wrote itself. */
  #wrote(): void {
    for (const file of this.#files) if (!file.wrote()) this.#replaced = true;
  }
}
