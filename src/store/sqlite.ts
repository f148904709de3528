/**
 * The embedded store: one SQLite file that one process holds. Commits issued in one turn of the event loop share one
 * disk transaction, and with it one fsync; each is judged on its own against what those before it left.
 */
import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkChange, checkPageRequest } from './check-request.ts';
import type {
  Change,
  CommitResult,
  Entry,
  Head,
  Page,
  PageRequest,
  Store,
  Watch,
  WatchListener,
  Write,
} from './port.ts';
import { ABSENT, HEAD_KEY, StoreUnavailable } from './port.ts';
import { Database, endOf, pagesIn, unavailable } from './sqlite-database.ts';
import { History, type PastChange } from './sqlite-history.ts';
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

const CONFLICT: CommitResult = { outcome: 'conflict' };

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

/** Where the store stands: as of the last disk commit, or, inside a group, as its members so far left it. */
interface Position {
  readonly revision: number;
  readonly head: Head;
}

/** A disk transaction being put together. Nothing of it counts before it is on disk. */
interface Group {
  position: Position;
  /** One for the whole group: what it must tell apart is one history of the store from another. */
  readonly mark: string;
  readonly changes: PastChange[];
  readonly results: CommitResult[];
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
    return this.reading('list', () => {
      const { start, end } = boundsOf(request);
      return pageOf(this.database.range(start, end, request.keysOnly), request, this.position.revision);
    });
  }

  async listAt(request: PageRequest, revision: number): Promise<Page | 'compacted'> {
    checkPageRequest(request);
    return this.reading('listAt', () => {
      if (revision > this.position.revision) throw new StoreUnavailable('refused', 'listAt: the revision is to come');
      if (revision < this.history.floor) return 'compacted';
      return pageOf(this.rangeAt(boundsOf(request), revision), request, revision);
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
    while (this.flushScheduled) await nextTurn();
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

  /** The entries of a past revision: those of now, with every later change undone. */
  private *rangeAt({ start, end }: Bounds, revision: number): Generator<Entry, undefined> {
    const undone = new Map<string, Entry | undefined>();
    for (const { key, previous } of this.history.after(revision)) {
      if (key >= start && key < end && !undone.has(key)) undone.set(key, previous);
    }
    const restored = [...undone.values()]
      .filter((entry) => entry !== undefined)
      .toSorted(byKey)
      .values();
    let next = restored.next();
    for (const entry of this.database.range(start, end)) {
      for (; next.value !== undefined && next.value.key < entry.key; next = restored.next()) yield next.value;
      if (!undone.has(entry.key)) yield entry;
    }
    for (; next.value !== undefined; next = restored.next()) yield next.value;
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
    let group: Group;
    try {
      group = this.write(members);
    } catch (err) {
      const trouble = unavailable('commit', err);
      for (const { reject } of members) reject(trouble);
      return;
    }
    try {
      this.adopt(group);
    } finally {
      for (const [index, { resolve }] of members.entries()) resolve(group.results[index] ?? CONFLICT);
    }
  }

  /** One disk transaction. Throws when the disk did not take it; then it is as if it had never been tried. */
  private write(members: readonly PendingCommit[]): Group {
    const mark = randomBytes(8).toString('hex');
    const group: Group = { position: this.position, mark, changes: [], results: [] };
    this.database.transaction(() => {
      for (const { change } of members) group.results.push(this.apply(change, group));
      const { revision, head } = group.position;
      if (head !== this.position.head) {
        this.database.put({ key: HEAD_KEY, value: head.mark, revision: head.revision });
      }
      return revision;
    });
    return group;
  }

  /** Makes a group that is on disk the state of the store. The watches know of it before those who committed do. */
  private adopt({ position, changes }: Group): void {
    this.position = position;
    this.remains ||= changes.some(({ key, previous }) => previous !== undefined && key !== HEAD_KEY);
    this.history.append(changes);
    if (changes.length > 0) this.watches.feed(position.revision, changes);
  }

  private apply(change: Change, group: Group): CommitResult {
    if (!this.holds(change, group)) return CONFLICT;
    const revision = group.position.revision + 1;
    const created = new Set<string>();
    for (const expected of change.expect) if (expected.revision === ABSENT) created.add(expected.key);
    for (const write of change.write) this.applyWrite(write, revision, created, group.changes);
    const head = change.quiet === true ? group.position.head : { revision, mark: group.mark };
    if (change.quiet !== true) group.changes.push(headChange(group.position.head, head));
    group.position = { revision, head };
    return { outcome: 'committed', revision };
  }

  private holds({ expect }: Change, { position }: Group): boolean {
    // The entry of head reaches the disk at the end of the group; until then its revision is the group's.
    return expect.every(({ key, revision }) =>
      key === HEAD_KEY ? position.head.revision === revision : this.database.revisionOf(key) === revision,
    );
  }

  /** `created` holds keys known to be absent: what they replace need not be looked up. */
  private applyWrite(write: Write, revision: number, created: ReadonlySet<string>, changes: PastChange[]): void {
    if ('put' in write) {
      const { put: key, value } = write;
      changes.push({ key, revision, value, previous: created.has(key) ? undefined : this.database.get(key) });
      this.database.put({ key, value, revision });
    } else if ('remove' in write) {
      const previous = this.database.get(write.remove);
      if (previous === undefined) return;
      changes.push({ key: write.remove, revision, value: undefined, previous });
      this.database.remove(write.remove);
    } else {
      for (const previous of this.database.range(write.removeAll, endOf(write.removeAll))) {
        changes.push({ key: previous.key, revision, value: undefined, previous });
      }
      this.database.removeAll(write.removeAll);
    }
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

function headChange(before: Head, after: Head): PastChange {
  const previous = before.revision === ABSENT ? undefined : entryOf(before);
  return { key: HEAD_KEY, revision: after.revision, value: after.mark, previous };
}

function entryOf({ revision, mark }: Head): Entry {
  return { key: HEAD_KEY, value: mark, revision };
}

/** `start` is inclusive, `end` exclusive. */
interface Bounds {
  readonly start: string;
  readonly end: string;
}

function boundsOf({ prefix, after }: PageRequest): Bounds {
  // The character that sorts first makes the successor of a key.
  const start = after === undefined || after < prefix ? prefix : `${after}\0`;
  return { start, end: endOf(prefix) };
}

const byKey = (a: Entry, b: Entry): number => (a.key < b.key ? -1 : 1);

function pageOf(found: Generator<Entry, undefined>, { limit, keysOnly }: PageRequest, revision: number): Page {
  const entries = found.take(limit + 1).toArray();
  const more = entries.length > limit;
  if (more) entries.pop();
  const next = entries.at(-1)?.key;
  const shown = keysOnly === true ? entries.map(({ key, revision }) => ({ key, value: '', revision })) : entries;
  return { entries: shown, revision, ...(more && next !== undefined ? { next } : {}) };
}
