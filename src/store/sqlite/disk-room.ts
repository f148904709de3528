import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { Fullness, type Look } from '../fullness.ts';
import { StoreUnavailable } from '../port.ts';
import { CHECKPOINT_PAGES, PAGE_BYTES, unavailable, type Database } from './database.ts';
import type { FileWatch } from './file-watch.ts';
import { Reserve } from './reserve.ts';

/* The room on the disk of an embedded store, and the reserve that is kept there for what must go through (A12). */

/** On a small disk the write-ahead log is this part of it. */
const LOG_PART = 1 / 32;
const CHECKPOINT_PAGES_MIN = 16;
/** A short write-ahead log: this much free space is no room, even for a store that is smaller. */
const LOG_BYTES = 256 * 1024;
/** With less than this, reserve and all, no commit is taken any more. */
const LEAST_BYTES = 64 * 1024;

/** Watches the room of a store's file; a store in memory, or with a bound of its own, has no disk to watch. */
export class DiskRoom implements Disposable {
  readonly #database: Database;
  readonly #file: FileWatch;
  readonly #directory: string;
  readonly #reserve: Reserve;
  readonly #estimate: Fullness;
  #checkpointPages = CHECKPOINT_PAGES;

  constructor(path: string, database: Database, file: FileWatch) {
    this.#database = database;
    this.#file = file;
    this.#directory = dirname(path);
    this.#reserve = new Reserve(path);
    this.#reserve.removeUnfinished();
    this.#estimate = new Fullness(async () => this.#look());
    void this.#check();
  }

  /** As `Store.fullness`. */
  get fullness(): number {
    return this.#estimate.value;
  }

  /** Looks at the disk once, now. Never rejects. */
  async #check(): Promise<void> {
    await this.#estimate.check();
  }

  /** Called with the bytes of a commit when it comes. */
  began(bytes: number): void {
    this.#estimate.began(bytes);
  }

  /** Called with the bytes of commits that are written now. */
  ended(bytes: number): void {
    this.#estimate.ended(bytes, true);
  }

  /** Whether the trouble of a commit is that the disk is full: SQLite tells it by several codes. */
  isFull({ reason }: StoreUnavailable): boolean {
    return reason === 'full' || (reason === 'failed' && this.#isSeenFull());
  }

  /**
   * Called with the trouble of a commit.
   * @param forUrgent where the disk is full, gives the reserve up, and then the room of the write-ahead log
   * @returns the trouble as callers are told of it
   */
  full(trouble: StoreUnavailable, forUrgent: boolean): StoreUnavailable {
    if (!this.isFull(trouble)) return trouble;
    if (forUrgent) this.#giveUpReserve();
    void this.#check();
    return new StoreUnavailable('full', trouble.message, { cause: trouble.cause });
  }

  /** Runs the work, and once more from the reserve where the disk is full. @throws StoreUnavailable as the work */
  withReserve<T>(operation: string, work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!this.isFull(unavailable(operation, error))) throw error;
      this.#giveUpReserve();
    }
    try {
      return work();
    } catch (error) {
      throw this.full(unavailable(operation, error), false);
    }
  }

  /** @throws StoreUnavailable `full` where building the file anew would fill the disk */
  assertRoomToRebuild(): void {
    const needed = this.#database.pagesInUse() * PAGE_BYTES + LEAST_BYTES;
    if (this.#freeBytes() >= needed) return;
    throw new StoreUnavailable('full', `compact: the file needs ${needed} free bytes on its disk to be built anew`);
  }

  [Symbol.dispose](): void {
    this.#estimate[Symbol.dispose]();
  }

  #giveUpReserve(): void {
    try {
      this.#reserve.giveUp();
    } catch {
      // It stays where it is, and the disk is as full as it was: what needed its room is refused.
    }
    this.#emptyLog();
  }

  /** Copies the write-ahead log into the file, and gives back its room, as far as it can. */
  #emptyLog(): void {
    try {
      this.#file.writing('checkpoint', () => this.#database.pragma('wal_checkpoint(TRUNCATE)'));
    } catch {
      // On a full disk the log stays as it is, and so it does where the file is not ours any more.
    }
  }

  /** @returns false also where the disk does not tell */
  #isSeenFull(): boolean {
    try {
      return this.#freeBytes() < LEAST_BYTES;
    } catch {
      return false;
    }
  }

  #freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.#directory);
    return bavail * bsize;
  }

  #look(): Look {
    const inUseBytes = this.#database.pagesInUse() * PAGE_BYTES;
    const freePagesBytes = this.#database.pagesFree() * PAGE_BYTES;
    this.#reserve.keep(inUseBytes + freePagesBytes, () => this.#freeBytes());
    const freeBytes = this.#freeBytes();
    // A reserve that was given up is no room for others, and the log needs its own.
    const owed = LOG_BYTES + this.#reserve.missingBytes();
    const capacityBytes = inUseBytes + freePagesBytes + Math.max(0, freeBytes - owed);
    this.#boundLog(capacityBytes);
    return { inUseBytes, capacityBytes, refusesPuts: freeBytes + this.#reserve.bytes() < LEAST_BYTES };
  }

  /** A log of the usual length would take a small disk whole. */
  #boundLog(capacityBytes: number): void {
    const pages = Math.floor((capacityBytes * LOG_PART) / PAGE_BYTES);
    const bound = Math.min(CHECKPOINT_PAGES, Math.max(CHECKPOINT_PAGES_MIN, pages));
    const shorter = bound < this.#checkpointPages;
    if (bound !== this.#checkpointPages) this.#database.pragma(`wal_autocheckpoint = ${bound}`);
    this.#checkpointPages = bound;
    if (shorter) this.#emptyLog();
  }
}
