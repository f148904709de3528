/** The room on the disk of an embedded store, and the reserve that is kept there for what must go through (A12). */
import { createCipheriv } from 'node:crypto';
import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { Fullness, type Look } from '../fullness.ts';
import { StoreUnavailable } from '../port.ts';
import { CHECKPOINT_PAGES, PAGE_BYTES, unavailable, type Database } from './database.ts';
import type { FileWatch } from './file-watch.ts';

/** Enough for thousands of revocations: each adds one or two KiB to the file. */
const RESERVE_BYTES_MAX = 4 * 1024 * 1024;
/** On a small disk the reserve and the write-ahead log are these parts of it. */
const RESERVE_PART = 1 / 8;
const LOG_PART = 1 / 32;
const CHECKPOINT_PAGES_MIN = 16;
/** The log needs some room beside it; otherwise the next commit would need the reserve again. */
const ROOM_FOR_RESERVE = 1.25;
/** A short write-ahead log: this much free space is no room, even for a store that is smaller. */
const LOG_BYTES = 256 * 1024;
/** With less than this and no reserve, no commit is taken any more. */
const LEAST_BYTES = 64 * 1024;

/** Watches the room of a store's file; a store in memory, or with a bound of its own, has no disk to watch. */
export class DiskRoom implements Disposable {
  private readonly database: Database;
  private readonly file: FileWatch;
  private readonly directory: string;
  private readonly reserve: string;
  private readonly estimate: Fullness;
  private reserveBytes: number;
  private hasReserve: boolean;
  private checkpointPages = CHECKPOINT_PAGES;

  constructor(path: string, database: Database, file: FileWatch) {
    this.database = database;
    this.file = file;
    this.directory = dirname(path);
    this.reserve = `${path}-reserve`;
    this.reserveBytes = statSync(this.reserve, { throwIfNoEntry: false })?.size ?? 0;
    this.hasReserve = this.reserveBytes > 0;
    this.estimate = new Fullness(async () => this.look());
    void this.check();
  }

  /** As `Store.fullness`. */
  get fullness(): number {
    return this.estimate.value;
  }

  /** Looks at the disk once, now. Never rejects. */
  private async check(): Promise<void> {
    await this.estimate.check();
  }

  /** Called with the bytes of a commit when it comes. */
  began(bytes: number): void {
    this.estimate.began(bytes);
  }

  /** Called with the bytes of commits that are written now. */
  ended(bytes: number): void {
    this.estimate.ended(bytes, true);
  }

  /** Whether the trouble of a commit is that the disk is full: SQLite tells it by several codes. */
  isFull({ reason }: StoreUnavailable): boolean {
    return reason === 'full' || (reason === 'failed' && this.isSeenFull());
  }

  /**
   * Called with the trouble of a commit.
   * @param forUrgent where the disk is full, gives the reserve up, and then the room of the write-ahead log
   * @returns the trouble as callers are told of it
   */
  full(trouble: StoreUnavailable, forUrgent: boolean): StoreUnavailable {
    if (!this.isFull(trouble)) return trouble;
    if (forUrgent) this.giveUpReserve();
    void this.check();
    return new StoreUnavailable('full', trouble.message, { cause: trouble.cause });
  }

  /** Runs the work, and once more from the reserve where the disk is full. */
  withReserve<T>(work: () => T): T {
    try {
      return work();
    } catch (err) {
      if (!this.isFull(unavailable('open', err))) throw err;
      this.giveUpReserve();
      return work();
    }
  }

  /** @throws StoreUnavailable `full` where building the file anew would fill the disk */
  assertRoomToRebuild(): void {
    const needed = this.database.pagesInUse() * PAGE_BYTES + LEAST_BYTES;
    if (this.freeBytes() >= needed) return;
    throw new StoreUnavailable('full', `compact: the file needs ${needed} free bytes on its disk to be built anew`);
  }

  [Symbol.dispose](): void {
    this.estimate[Symbol.dispose]();
  }

  private giveUpReserve(): void {
    try {
      if (this.hasReserve) rmSync(this.reserve, { force: true });
      this.hasReserve = false;
    } catch {
      // It stays where it is, and the disk is as full as it was: what needed its room is refused.
    }
    this.emptyLog();
  }

  /** Copies the write-ahead log into the file, and gives back its room, as far as it can. */
  private emptyLog(): void {
    try {
      this.file.writing('checkpoint', () => this.database.pragma('wal_checkpoint(TRUNCATE)'));
    } catch {
      // On a full disk the log stays as it is, and so it does where the file is not ours any more.
    }
  }

  /** @returns false also where the disk does not tell */
  private isSeenFull(): boolean {
    try {
      return this.freeBytes() < LEAST_BYTES;
    } catch {
      return false;
    }
  }

  private freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.directory);
    return bavail * bsize;
  }

  private look(): Look {
    const inUseBytes = this.database.pagesInUse() * PAGE_BYTES;
    const freePagesBytes = this.database.pagesFree() * PAGE_BYTES;
    this.keepReserve(inUseBytes + freePagesBytes);
    const freeBytes = this.freeBytes();
    // A reserve that was given up is no room for others, and the log needs its own.
    const owed = LOG_BYTES + (this.hasReserve ? 0 : this.reserveBytes);
    const capacityBytes = inUseBytes + freePagesBytes + Math.max(0, freeBytes - owed);
    this.boundLog(capacityBytes);
    return { inUseBytes, capacityBytes, refusesPuts: !this.hasReserve && freeBytes < LEAST_BYTES };
  }

  /** Makes the reserve where there is none, and room for it and a little more. */
  private keepReserve(fileBytes: number): void {
    if (this.hasReserve) return;
    const freeBytes = this.freeBytes();
    if (this.reserveBytes === 0) {
      this.reserveBytes = Math.min(RESERVE_BYTES_MAX, Math.floor((fileBytes + freeBytes) * RESERVE_PART));
    }
    if (freeBytes < this.reserveBytes * ROOM_FOR_RESERVE) return;
    this.hasReserve = written(this.reserve, this.reserveBytes);
  }

  /** A log of the usual length would take a small disk whole. */
  private boundLog(capacityBytes: number): void {
    const pages = Math.floor((capacityBytes * LOG_PART) / PAGE_BYTES);
    const bound = Math.min(CHECKPOINT_PAGES, Math.max(CHECKPOINT_PAGES_MIN, pages));
    const shorter = bound < this.checkpointPages;
    if (bound !== this.checkpointPages) this.database.pragma(`wal_autocheckpoint = ${bound}`);
    this.checkpointPages = bound;
    if (shorter) this.emptyLog();
  }
}

const BLOCK_BYTES = 1024 * 1024;
/** A stream of AES: a file system that compresses would keep zeros in no room at all. */
let block: Buffer | undefined;

/** Writes the file of that length. @returns false where it could not be; nothing is then left of it */
function written(path: string, bytes: number): boolean {
  block ??= createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(BLOCK_BYTES));
  try {
    const file = openSync(path, 'w', 0o600);
    try {
      for (let at = 0; at < bytes; at += BLOCK_BYTES) writeSync(file, block, 0, Math.min(BLOCK_BYTES, bytes - at));
    } finally {
      closeSync(file);
    }
    return true;
  } catch {
    rmSync(path, { force: true });
    return false;
  }
}
