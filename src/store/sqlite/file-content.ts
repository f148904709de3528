import { createHash, type Hash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';

/** The part that is read at once while the store is in use: a pause of a few milliseconds. */
const SLICE_BYTES = 4 * 1024 * 1024;

/** The content of a file as this process left it, told by a digest that is taken slice by slice. */
export class FileContent {
  /**
   * Closing it drops every lock that this process has on the file (fcntl(2)): only once the database is closed.
   * Undefined where the file cannot be opened.
   */
  readonly #file: number | undefined;
  #digest: string | undefined;
  #unfinished: { readonly hash: Hash; readonly at: number } | undefined;

  constructor(path: string) {
    this.#file = opened(path);
  }

  /** Called when this process has written the file. */
  forget(): void {
    this.#digest = undefined;
    this.#unfinished = undefined;
  }

  /**
   * Takes the next slice of the digest, where it is not complete.
   * @param size of the file, which is as this process left it
   */
  take(size: number): void {
    if (this.#digest !== undefined || this.#file === undefined) return;
    const { hash, at } = this.#unfinished ?? { hash: createHash('sha256'), at: 0 };
    const next = Math.min(size, at + SLICE_BYTES);
    hash.update(bytesOf(this.#file, at, next));
    if (next < size) this.#unfinished = { hash, at: next };
    else this.#digest = hash.digest('hex');
  }

  /**
   * Reads the file again, at about 1 GiB a second, during which nothing else runs.
   * @returns whether it is as this process left it; false where that is not known
   */
  isSame(size: number): boolean {
    if (this.#digest === undefined || this.#file === undefined) return false;
    const hash = createHash('sha256');
    for (let at = 0; at < size; at += SLICE_BYTES) {
      hash.update(bytesOf(this.#file, at, Math.min(size, at + SLICE_BYTES)));
    }
    return hash.digest('hex') === this.#digest;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}

function opened(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch {
    return undefined;
  }
}

/** As much of the part as there is. */
function bytesOf(file: number, from: number, to: number): Buffer {
  const bytes = Buffer.allocUnsafe(to - from);
  let read = 0;
  while (read < bytes.length) {
    const more = readSync(file, bytes, read, bytes.length - read, from + read);
    if (more === 0) break;
    read += more;
  }
  return bytes.subarray(0, read);
}
