import { createCipheriv } from 'node:crypto';
import { closeSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';

/* The file that keeps room on the disk of an embedded store for what must go through when it is full (A12). */

/** Enough for thousands of revocations: each adds one or two KiB to the file. */
const BYTES_MAX = 4 * 1024 * 1024;
/** On a small disk the reserve is this part of it. */
const PART = 1 / 8;
/** The free room of a disk moves all the time: a reserve that has this part of its size is left alone. */
const ENOUGH = 3 / 4;
/** The log needs some room beside it; otherwise the next commit would need the reserve again. */
const ROOM_BESIDE = 1.25;

export class Reserve {
  readonly #path: string;
  /** Never smaller than it was: a disk that others fill up would keep less and less. */
  #wantedBytes: number;

  /** @param path of the store's file */
  constructor(path: string) {
    this.#path = `${path}-reserve`;
    this.#wantedBytes = this.bytes();
  }

  /** The bytes that the disk has kept for it; 0 where there is none. */
  bytes(): number {
    return statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** The bytes that it lacks, which are no room for others. */
  missingBytes(): number {
    return Math.max(0, this.#wantedBytes - this.bytes());
  }

  /**
   * Makes it where there is none, or a much too small one, and room for it and a little more.
   * @param fileBytes the bytes of the store's file
   * @param freeBytes asks the disk
   */
  keep(fileBytes: number, freeBytes: () => number): void {
    const [bytes, free] = [this.bytes(), freeBytes()];
    const wanted = Math.min(BYTES_MAX, Math.floor((fileBytes + bytes + free) * PART));
    this.#wantedBytes = Math.max(this.#wantedBytes, wanted);
    if (bytes >= this.#wantedBytes * ENOUGH || free < this.#wantedBytes * ROOM_BESIDE) return;
    makeFile(this.#path, this.#wantedBytes);
  }

  /** Gives its room back to the disk. @throws the system's error */
  giveUp(): void {
    rmSync(this.#path, { force: true });
  }

  /** Removes what a process left that was killed while it made the reserve. */
  removeUnfinished(): void {
    try {
      rmSync(unfinished(this.#path), { force: true });
    } catch {
      // The next reserve is written over it.
    }
  }
}

const unfinished = (path: string): string => `${path}-unfinished`;

const BLOCK_BYTES = 1024 * 1024;
/** A stream of AES: a file system that compresses would keep zeros in no room at all. */
let block: Buffer | undefined;

/** Makes the file of that length under its name, or nothing at all. */
function makeFile(path: string, bytes: number): void {
  block ??= createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(BLOCK_BYTES));
  try {
    const file = openSync(unfinished(path), 'w', 0o600);
    try {
      for (let at = 0; at < bytes;) at += writeSync(file, block, 0, Math.min(BLOCK_BYTES, bytes - at));
    } finally {
      closeSync(file);
    }
    renameSync(unfinished(path), path);
  } catch {
    rmSync(unfinished(path), { force: true });
  }
}
