/**
 * The embedded store: one SQLite file that one process holds. Commits issued in one turn of the event loop share one
 * disk transaction, and with it one fsync; each is judged on its own against what those before it left.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkChange, checkPageRequest } from './check-request.ts';
import type { Change, CommitResult, Entry, Head, Page, PageRequest, Store, Watch, WatchListener } from './port.ts';
import { ABSENT, HEAD_KEY, StoreUnavailable } from './port.ts';
import { Database, pagesIn, unavailable } from './sqlite-database.ts';
import { Group, type Position } from './sqlite-group.ts';
import { History } from './sqlite-history.ts';
import { pageNow, pageThen } from './sqlite-pages.ts';
import { Watches } from './sqlite-watches.ts';

export interface SqliteOptions {
  /** The file grows no further; a commit that needs more throws `full`. Without it the disk is the bound. */
  readonly bytesMax?: number;
  /** How much of the past is remembered, for watches that resume and listings of a revision. */
  readonly historyBytesMax?: number;
}

/** What one disk transaction takes at most: it runs in one piece, and nothing else runs meanwhile. */
const GROUP_COMMITS_MAX = 512;
const GROUP_BYTES_MAX = 4 * 1024 * 1024;
const HISTORY_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Opens the file, or makes it (mode 0600), for this process alone. `:memory:` is a store that ends with its disposal.
 * Throws `StoreUnavailable`: `refused` when another process holds the file.
 */
export async function openSqliteStore(path: string, options: SqliteOptions = {}): Promise<Store> {
  return new SqliteStore(path, options);
}

interface PendingCommit {
  readonly change: Change;
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (err: StoreUnavailable) => void;
}

class SqliteStore implements Store {
  readonly backend = 'sqlite';
  private readonly database: Database;
  private readonly history: History;
  private readonly watches = new Watches();
  private readonly pagesMax: number | undefined;
  private position: Position;
  private pending: PendingCommit[] = [];
  private flushScheduled = false;
  private disposal: Promise<void> | undefined;
  /** Whether the file may hold remains of removed or overwritten values. */
  private remains: boolean;

  constructor(path: string, { bytesMax, historyBytesMax = HISTORY_BYTES_MAX }: SqliteOptions) {
    this.pagesMax = bytesMax === undefined ? undefined : pagesIn(bytesMax);
    this.database = new Database(path, this.pagesMax);
    const revision = this.database.revision();
    const { revision: headRevision, value } = this.database.get(HEAD_KEY) ?? { revision: ABSENT, value: '' };
    this.position = { revision, head: { revision: headRevision, mark: value } };
    this.history = new History(revision, historyBytesMax);
    // The process before this one may have been killed between a purge and its compaction.
    this.remains = revision > 0;
  }

  async get(key: string): Promise<Entry | undefined> {
    return this.reading('get', () => this.database.get(key));
  }

  async list(request: PageRequest): Promise<Page> {
    checkPageRequest(request);
    return this.reading('list', () => pageNow(this.database, request, this.position.revision));
  }

  async listAt(request: PageRequest, revision: number): Promise<Page | 'compacted'> {
    checkPageRequest(request);
    return this.reading('listAt', () => {
      if (revision > this.position.revision) throw new StoreUnavailable('refused', 'listAt: the revision is to come');
      if (revision < this.history.floor) return 'compacted';
      return pageThen(this.database, this.history, request, revision);
    });
  }

  async commit(change: Change): Promise<CommitResult> {
    this.assertOpen('commit');
    checkChange(change);
    return new Promise((resolve, reject) => {
      this.pending.push({ change, resolve, reject });
      this.scheduleFlush();
    });
  }

  async head(): Promise<Head> {
    return this.headNow();
  }

  headNow(): Head {
    this.assertOpen('head');
    return this.position.head;
  }

  async headAt(revision: number): Promise<Head | 'compacted' | 'future'> {
    this.assertOpen('headAt');
    if (revision > this.position.revision) return 'future';
    if (revision < this.history.floor) return 'compacted';
    for (const { key, previous } of this.history.after(revision)) {
      if (key === HEAD_KEY) return { revision: previous?.revision ?? ABSENT, mark: previous?.value ?? '' };
    }
    return this.position.head;
  }

  watch(prefix: string, from: number, listener: WatchListener): Watch {
    const watch = this.watches.start(prefix, from, listener, this.history, () => this.position.revision);
    if (this.disposal !== undefined) watch.close();
    return watch;
  }

  async compact(revision: number): Promise<void> {
    this.reading('compact', () => {
      this.history.forget(Math.min(revision, this.position.revision));
      this.history.trim();
      this.database.forget(this.remains);
      this.remains = false;
    });
  }

  fullness(): number {
    if (this.pagesMax === undefined || this.disposal !== undefined) return 0;
    return Math.min(1, this.database.pagesInUse() / this.pagesMax);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.disposal ??= this.close();
    return this.disposal;
  }

  private async close(): Promise<void> {
    // At least one turn: a listener that disposes of the store must not close it under the commit that called it.
    do await nextTurn();
    while (this.flushScheduled);
    this.watches.endAll();
    this.database.close();
  }

  private assertOpen(operation: string): void {
    if (this.disposal !== undefined) throw new StoreUnavailable('closed', `${operation}: the store is closed`);
  }

  private reading<T>(operation: string, read: () => T): T {
    this.assertOpen(operation);
    try {
      return read();
    } catch (err) {
      throw unavailable(operation, err);
    }
  }

  /** The check phase follows the I/O of a turn, so what that I/O led to is written together. */
  private scheduleFlush(): void {
    if (this.flushScheduled) return;
    this.flushScheduled = true;
    setImmediate(() => this.flush());
  }

  private flush(): void {
    const size = groupSize(this.pending);
    const members = this.pending.slice(0, size);
    this.pending = this.pending.slice(size);
    this.flushScheduled = false;
    if (this.pending.length > 0) this.scheduleFlush();
    this.flushGroup(members);
  }

  private flushGroup(members: readonly PendingCommit[]): void {
    const group = new Group(this.database, this.position);
    let results: CommitResult[];
    try {
      results = this.write(group, members);
    } catch (err) {
      const trouble = unavailable('commit', err);
      for (const { reject } of members) reject(trouble);
      return;
    }
    try {
      this.adopt(group);
    } finally {
      for (const [index, result] of results.entries()) members[index]?.resolve(result);
    }
  }

  /** One disk transaction. Throws when the disk did not take it; then it is as if it had never been tried. */
  private write(group: Group, members: readonly PendingCommit[]): CommitResult[] {
    return this.database.transaction(() => {
      const results = members.map(({ change }) => group.add(change));
      group.finish();
      return { revision: group.position.revision, results };
    });
  }

  /** Makes a group that is on disk the state of the store. The watches know of it before those who committed do. */
  private adopt({ position, changes }: Group): void {
    this.position = position;
    this.remains ||= changes.some(({ key, previous }) => previous !== undefined && key !== HEAD_KEY);
    this.history.append(changes);
    if (changes.length > 0) this.watches.feed(position.revision, changes);
  }
}

/** How many of the pending commits the next transaction takes: at least one, whatever its size. */
function groupSize(pending: readonly PendingCommit[]): number {
  let bytes = 0;
  const beyond = pending.findIndex(({ change }, index) => {
    for (const write of change.write) if ('put' in write) bytes += write.put.length + write.value.length;
    return index > 0 && (index >= GROUP_COMMITS_MAX || bytes > GROUP_BYTES_MAX);
  });
  return beyond === -1 ? pending.length : beyond;
}
