import { statSync } from 'node:fs';
import { FileContent } from './file-content.ts';

/*
 * Less was tried, against test/store/sqlite/files.test.ts (34 tests). Device and inode alone fail 6: a copy over the
 * file and a page that is overwritten pass for the store, and commits are acknowledged into them. With size and time
 * beside them, and without the content, 4 fail: a store that was only touched takes no writes any more.
 */

/** A larger file is not read when it has another time: that alone counts as a replacement. */
const COMPARED_BYTES_MAX = 256 * 1024 * 1024;

/** One file of an open database, as this process left it. */
export class WatchedFile {
  readonly #path: string;
  readonly #identity: string;
  readonly #content: FileContent;
  #left: Look;
  /** The look at which it was found to have other content: it is not read again for the same. */
  #other: Look | undefined;
  #isQuiet = true;

  constructor(path: string) {
    this.#path = path;
    this.#left = lookAt(path);
    this.#identity = this.#left.identity;
    this.#content = new FileContent(path);
    this.lookIdly();
  }

  /**
   * Whether the file at the path is the one that is open, and as this process left it. Where only the time of its last
   * write differs, as after `touch`, the content decides, if it was known.
   */
  isAsLeft(): boolean {
    const now = lookAt(this.#path);
    if (isSame(now, this.#left)) return true;
    if (now.identity !== this.#identity || now.size !== this.#left.size) return false;
    if (now.size > COMPARED_BYTES_MAX || (this.#other !== undefined && isSame(now, this.#other))) return false;
    // A write during the reading has moved the time once more.
    if (this.#hasContent(now.size) && isSame(lookAt(this.#path), now)) {
      this.#left = now;
      return true;
    }
    this.#other = now;
    return false;
  }

  /** As `isAsLeft`, and learns a part of the content where this process has not written since the last such look. */
  lookIdly(): boolean {
    if (!this.isAsLeft()) return false;
    const { size, identity } = this.#left;
    if (this.#isQuiet && identity !== NONE && size <= COMPARED_BYTES_MAX) this.#learn(size);
    this.#isQuiet = true;
    return true;
  }

  /** Called after this process may have written the file. @returns false where it is another one now */
  wrote(): boolean {
    const now = lookAt(this.#path);
    if (now.identity !== this.#identity) return false;
    if (isSame(now, this.#left)) return true;
    this.#left = now;
    this.#isQuiet = false;
    this.#content.forget();
    return true;
  }

  close(): void {
    this.#content.close();
  }

  #hasContent(size: number): boolean {
    try {
      return this.#content.isSame(size);
    } catch {
      return false;
    }
  }

  #learn(size: number): void {
    try {
      this.#content.take(size);
    } catch {
      // A file that cannot be read now has no known content.
      this.#content.forget();
    }
    // Content that was written meanwhile is none that this process left.
    if (!isSame(lookAt(this.#path), this.#left)) this.#content.forget();
  }
}

const NONE = 'none';

/** Device and inode, and the time and size of the last write; `none` where there is no file, or it cannot be read. */
interface Look {
  readonly identity: string;
  readonly writtenAt: bigint;
  readonly size: number;
}

function lookAt(path: string): Look {
  try {
    const { dev, ino, mtimeNs, size } = statSync(path, { bigint: true });
    return { identity: `${dev}:${ino}`, writtenAt: mtimeNs, size: Number(size) };
  } catch {
    return { identity: NONE, writtenAt: 0n, size: 0 };
  }
}

const isSame = (one: Look, other: Look): boolean =>
  one.identity === other.identity && one.writtenAt === other.writtenAt && one.size === other.size;
