import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkChange, checkHold, checkPageRequest } from '../validate.ts';
import {
  ABSENT,
  type Change,
  type CommitResult,
  type Entry,
  type Head,
  HEAD_KEY,
  type Held,
  isFull,
  type Key,
  type Page,
  type PageRequest,
  type Retained,
  type Store,
  StoreUnavailable,
  type Watch,
  type WatchListener,
} from '../port.ts';
import { Database, pagesIn, unavailable } from './database.ts';
import { DiskRoom } from './disk-room.ts';
import { FileWatch } from './file-watch.ts';
import { bytesOf, Group, groupSize, isUrgent, withoutHeld, type PendingCommit, type Position } from './group-commit.ts';
import { History } from './history.ts';
import { type HolderNote, SqliteHolds } from './holds.ts';
import { fileOf, MEMORY } from './location.ts';
import { pageNow, pageThen } from './pages.ts';
import { Watches } from './watches.ts';

/*
 * The embedded store: one SQLite file that one process holds. Commits issued in one turn of the event loop share one
 * disk transaction, and with it one fsync; each is judged on its own against what those before it left.
 */

/** The bounds of an embedded store; those that are absent have defaults. */
export interface SqliteOptions {
  /** The bound of the file in bytes; a commit that needs more throws `full`. Where absent, the disk is the bound. */
  readonly bytesMax?: number;
  /** The bound of the history in memory, for watches that resume and listings of a revision. */
  readonly historyBytesMax?: number;
  /** The bound while a revision is retained; history beyond it is forgotten all the same. */
  readonly retainedBytesMax?: number;
  /** Checks the whole file however large it is: up to seconds in which nothing else runs. */
  readonly checked?: boolean;
}

const HISTORY_BYTES_MAX = 16 * 1024 * 1024;
const RETAINED_BYTES_MAX = 512 * 1024 * 1024;

/**
 * Opens the file, or makes it (mode 0600), for this process alone. `:memory:` is a store that ends with its disposal.
 * @throws StoreUnavailable `refused` when another process holds the file or it is another program's, `corrupt`,
 *   `readonly`, or `failed` when it cannot be opened
 */
export async function openSqliteStore(path: string, options: SqliteOptions = {}): Promise<Store> {
  return new SqliteStore(path, options);
}

class SqliteStore implements Store {
  readonly backend = 'sqlite';
  readonly #database: Database;
  readonly #history: History;
  readonly #watches = new Watches();
  readonly #holds = new SqliteHolds(async (change, note) => this.#submit(change, note));
  readonly #pagesMax: number | undefined;
  readonly #file: FileWatch;
  /** Absent in memory, and under a bound of the store's own. */
  readonly #room: DiskRoom | undefined;
  #position: Position;
  #pending: PendingCommit[] = [];
  #flushScheduled = false;
  #disposal: Promise<void> | undefined;
  /** Whether the file may hold remains of removed or overwritten values. */
  #remains: boolean;
  /** A full disk keeps the keys that an earlier process held from being removed. */
  #heldRemain = true;

  constructor(path: string, options: SqliteOptions) {
    const { bytesMax, historyBytesMax = HISTORY_BYTES_MAX, retainedBytesMax = RETAINED_BYTES_MAX } = options;
    this.#pagesMax = bytesMax === undefined ? undefined : pagesIn(bytesMax);
    const file = fileOf(path);
    this.#database = new Database(file, this.#pagesMax, options.checked === true);
    this.#file = new FileWatch(path, file);
    if (path !== MEMORY && this.#pagesMax === undefined) this.#room = new DiskRoom(file, this.#database, this.#file);
    const revision = this.#database.revision();
    const { revision: headRevision, value } = this.#database.get(HEAD_KEY) ?? { revision: ABSENT, value: '' };
    this.#position = { revision, head: { revision: headRevision, epochId: value } };
    this.#history = new History(revision, historyBytesMax, retainedBytesMax);
    // The process before this one may have been killed between a purge and its compaction.
    this.#remains = revision > 0;
    this.#open();
  }

  async get(key: string): Promise<Entry | undefined> {
    return this.#reading('get', () => this.#database.get(key));
  }

  async list(request: PageRequest): Promise<Page> {
    checkPageRequest(request);
    return this.#reading('list', () => pageNow(this.#database, request, this.#position.revision));
  }

  async listAt(request: PageRequest, revision: number): Promise<Page | 'compacted'> {
    checkPageRequest(request);
    return this.#reading('listAt', () => {
      if (revision > this.#position.revision) throw new StoreUnavailable('refused', 'listAt: the revision is to come');
      if (revision < this.#history.floor) return 'compacted';
      return pageThen(this.#database, this.#history, request, revision);
    });
  }

  async commit(change: Change): Promise<CommitResult> {
    checkChange(change);
    return this.#submit(change);
  }

  async hold(key: Key, value: string, ttlMs: number): Promise<Held | 'taken'> {
    checkHold(key, value, ttlMs);
    this.#assertOpen('hold');
    if (this.#heldRemain) this.#removeHeld('hold');
    const noted = this.#reading('hold', () => this.#database.held());
    return this.#holds.hold(key, value, noted);
  }

  async head(): Promise<Head> {
    return this.headNow();
  }

  headNow(): Head {
    this.#assertOpen('head');
    return this.#position.head;
  }

  async headAt(revision: number): Promise<Head | 'compacted' | 'future'> {
    this.#assertOpen('headAt');
    if (revision > this.#position.revision) return 'future';
    if (revision < this.#history.floor) return 'compacted';
    for (const { key, previous } of this.#history.after(revision)) {
      if (key === HEAD_KEY) return { revision: previous?.revision ?? ABSENT, epochId: previous?.value ?? '' };
    }
    return this.#position.head;
  }

  watch(prefix: string, from: number, listener: WatchListener): Watch {
    const watch = this.#watches.start(prefix, from, listener, this.#history, () => this.#position.revision);
    if (this.#disposal !== undefined) watch.close();
    return watch;
  }

  async compact(revision: number): Promise<number> {
    return this.#reading('compact', () => {
      if (this.#remains) this.#room?.assertRoomToRebuild();
      const to = this.#history.compactable(Math.min(revision, this.#position.revision));
      this.#history.forget(to);
      this.#history.trim();
      this.#file.writing('compact', () => this.#database.forget(this.#remains));
      this.#remains = false;
      this.#file.assertThere('compact');
      return to;
    });
  }

  retain(revision: number): Retained {
    return this.#history.retain(revision);
  }

  fullness(): number {
    if (this.#pagesMax === undefined || this.#disposal !== undefined) return this.#room?.fullness ?? Number.NaN;
    return Math.min(1, this.#database.pagesInUse() / this.#pagesMax);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal ??= this.#close();
    return this.#disposal;
  }

  async #close(): Promise<void> {
    // At least one turn: a listener that disposes of the store must not close it under the commit that called it.
    do await nextTurn();
    while (this.#flushScheduled);
    this.#room?.[Symbol.dispose]();
    this.#watches.endAll();
    this.#holds.endAll();
    this.#database.close();
    this.#file.close();
  }

  async #submit(change: Change, note?: HolderNote): Promise<CommitResult> {
    this.#assertOpen('commit');
    return new Promise((resolve, reject) => {
      const member: PendingCommit = { change, note, resolve, reject };
      this.#room?.began(bytesOf([member]));
      this.#pending.push(member);
      this.#scheduleFlush();
    });
  }

  /** A full disk keeps nobody from reading. */
  #open(): void {
    try {
      this.#removeHeld('open');
    } catch (error) {
      const trouble = unavailable('open', error);
      if (isFull(trouble)) return;
      this.#database.close();
      this.#file.close();
      throw trouble;
    }
  }

  /** Removes the keys whose holders ended with an earlier process. */
  #removeHeld(operation: string): void {
    const remove = (): Group => this.#file.writing(operation, () => withoutHeld(this.#database, this.#position));
    this.#adopt(this.#room?.withReserve(operation, remove) ?? remove());
    this.#heldRemain = false;
  }

  #assertOpen(operation: string): void {
    if (this.#disposal !== undefined) throw new StoreUnavailable('closed', `${operation}: the store is closed`);
    this.#file.assertThere(operation);
  }

  #reading<T>(operation: string, read: () => T): T {
    this.#assertOpen(operation);
    try {
      return read();
    } catch (error) {
      throw unavailable(operation, error);
    }
  }

  /** The check phase follows the I/O of a turn, so the commits that this I/O caused are written together. */
  #scheduleFlush(): void {
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    const size = groupSize(this.#pending);
    const members = this.#pending.slice(0, size);
    this.#room?.ended(bytesOf(members));
    this.#pending = this.#pending.slice(size);
    this.#flushScheduled = false;
    if (this.#pending.length > 0) this.#scheduleFlush();
    this.#flushGroup(members);
  }

  #flushGroup(members: readonly PendingCommit[], isRetry = false): void {
    const group = new Group(this.#database, this.#position);
    let results: CommitResult[];
    try {
      results = this.#file.writing('commit', () => this.#write(group, members));
    } catch (error) {
      return this.#flushAgain(members, unavailable('commit', error), isRetry);
    }
    const trouble = this.#file.trouble('commit');
    if (trouble) {
      // The database that is open has the changes; nobody will find them there.
      this.#adopt(group);
      for (const { reject } of members) reject(trouble);
      return;
    }
    for (const [index, result] of results.entries()) {
      if (result.outcome === 'committed') members[index]?.note?.committed(result.revision);
    }
    try {
      this.#adopt(group);
    } finally {
      for (const [index, result] of results.entries()) members[index]?.resolve(result);
    }
  }

  /** Rejects what the disk did not take. On a full disk what may use the reserve is tried once more, by itself. */
  #flushAgain(members: readonly PendingCommit[], trouble: StoreUnavailable, isRetry: boolean): void {
    const urgent = this.#room?.isFull(trouble) === true && !isRetry ? members.filter(isUrgent) : [];
    const told = this.#room?.full(trouble, urgent.length > 0) ?? trouble;
    for (const member of members) if (!urgent.includes(member)) member.reject(told);
    if (urgent.length > 0) this.#flushGroup(urgent, true);
  }

  /** Runs one disk transaction. Throws when the disk did not take it; nothing was then written. */
  #write(group: Group, members: readonly PendingCommit[]): CommitResult[] {
    return this.#database.transaction(() => {
      const results = members.map(({ change, note }) => group.add(change, note?.key));
      group.finish();
      return { revision: group.position.revision, results };
    });
  }

  /** Makes a group that is on disk the state of the store. The watches are told before the callers that committed. */
  #adopt({ position, changes }: Group): void {
    this.#position = position;
    this.#remains ||= changes.some(({ key, previous }) => previous !== undefined && key !== HEAD_KEY);
    this.#history.append(changes);
    this.#holds.saw(changes);
    if (changes.length > 0) this.#watches.feed(position.revision, changes);
  }
}
