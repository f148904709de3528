import type { Entry, Expectation, Key, KeyPrefix } from './entry.ts';

/**
 * The store port: what Muster asks of the place where its records lie. Two back-ends keep these promises, `sqlite` and
 * `etcd`, and both run the suite in test/store/conformance/conformance.ts.
 *
 * Keys are printable ASCII and sort by code unit. Values are text. Revisions are positive safe integers that grow with
 * every commit of the whole store; a deleted key has no revision. A conflict is an ordinary answer and is returned;
 * only an outage is thrown, as `StoreUnavailable`, and a commit that ended so may or may not have happened.
 *
 * Every call on etcd ends within the deadline of the store (`deadlineMs`, 2 s), which is kept on the monotonic clock.
 * The embedded store answers each call from the file, without a deadline.
 */

export {
  ABSENT,
  absentSnapshot,
  committedSnapshot,
  expectAbsent,
  expectAsFound,
  expectHeld,
  expectUnchanged,
  snapshotOf,
} from './entry.ts';
export type { Entry, Expectation, Key, KeyPrefix, made, Snapshot } from './entry.ts';

/** Puts a value under a key. */
export interface Put {
  readonly put: Key;
  readonly value: string;
}

/** One effect of a commit. `removeAll` removes every key that starts with the prefix and counts as one operation. */
export type Write = Put | { readonly remove: Key } | { readonly removeAll: KeyPrefix };

/** The records that a commit relies on, and its effects; a change may be put together from several. */
export interface ChangeParts {
  readonly expect: readonly Expectation[];
  readonly write: readonly Write[];
}

/**
 * All or nothing: the writes happen if every expectation holds. A blind write cannot be expressed. No two writes of a
 * change touch the same key. At most `COMMIT_OPERATIONS_MAX` expectations, and as many writes (one is kept for `head`).
 */
export interface Change extends ChangeParts {
  readonly expect: readonly [Expectation, ...Expectation[]];
  /** Leaves `head` alone, as heartbeats, rate records and leadership do: no consistent read depends on them. */
  readonly quiet?: true;
  /** The instant of what the change tells, in milliseconds since 1970: `head` keeps the newest one (head-value.ts). */
  readonly at?: number;
  /** The purpose of the change; `vital` may use what the store keeps in reserve for a full disk. */
  readonly writeClass?: WriteClass;
}

/**
 * The purpose of a commit. `growth`: what callers add or change. `upkeep`: the bounded records of the service itself.
 * `vital`: what takes access away or frees space, what lets in whoever has access, and what replicas need to go on
 * serving at all.
 */
export type WriteClass = 'growth' | 'upkeep' | 'vital';

/** `revision` is the revision of every key that the change wrote. */
export type CommitResult =
  { readonly outcome: 'committed'; readonly revision: number } | { readonly outcome: 'conflict' };

/** The most expectations of a commit, and the most writes. */
export const COMMIT_OPERATIONS_MAX = 127;
/** The most entries of a page. */
export const PAGE_ENTRIES_MAX = 1000;
/** The longest time to live of a held key, in milliseconds. */
export const HOLD_TTL_MS_MAX = 3_600_000;

/** A question for the entries whose keys start with a prefix. */
export interface PageRequest {
  readonly prefix: string;
  /** Begin after this key (exclusive); the `next` of the page before. */
  readonly after?: string | undefined;
  /** At most this many entries, 1 to `PAGE_ENTRIES_MAX`. */
  readonly limit: number;
  /** Leave the values out: every `value` is `''`. */
  readonly keysOnly?: boolean;
}

/** Entries in key order, all of one revision of the store. `next` is there when more entries follow. */
export interface Page {
  readonly entries: readonly Entry[];
  readonly revision: number;
  readonly next?: string;
}

/**
 * The last commit that was not quiet: the revision of the key `head`, and the epoch id written there, 64 random bits
 * in hexadecimal, which tell this store's history from another one's, with the newest instant of commits
 * (head-value.ts). A store that was never committed to has revision 0 and an empty epoch id. Commits issued together
 * may share an epoch id; where all of them conflict, `head` may move without a commit.
 */
export interface Head {
  readonly revision: number;
  readonly epochId: string;
}

/** A change that a watch saw. A removed key has no `value`; `revision` is that of the removal. */
export interface WatchedChange {
  readonly key: Key;
  readonly revision: number;
  readonly value: string | undefined;
}

/** Every change under the prefix up to and including `revision`, in revision order; never part of a revision. */
export interface WatchBatch {
  readonly revision: number;
  readonly changes: readonly WatchedChange[];
}

/**
 * `compacted`: the history asked for is gone; list anew. `disconnected`: open a new watch from the last batch's
 * revision + 1. `closed`: the holder disposed of it.
 */
export type WatchEnd = 'compacted' | 'disconnected' | 'closed';

/** The store calls these in order, never after `onEnd`, and `onEnd` exactly once. The methods do not throw. */
export interface WatchListener {
  /** The store confirmed the watch: every later commit will be seen, or the watch will end. */
  onOpen(): void;
  onBatch(batch: WatchBatch): void;
  onEnd(reason: WatchEnd): void;
}

/** A store. Disposing of it ends its watches and holds; a call afterwards throws StoreUnavailable `closed`. */
export interface Store extends AsyncDisposable {
  readonly backend: 'sqlite' | 'etcd';

  /**
   * Reads the newest entry of a key. The read is linearizable: it sees every commit that was acknowledged before the
   * call, by any replica (A12).
   * @returns undefined where there is no such key
   * @throws StoreUnavailable `timeout`, `unreachable`, `refused`, `failed` or `closed`
   */
  get(key: string): Promise<Entry | undefined>;

  /**
   * Reads a page at the newest revision, linearizable as `get` is. Two pages may be of two revisions.
   * @throws StoreUnavailable as `get`
   * @throws RangeError where the limit is not 1 to `PAGE_ENTRIES_MAX`
   */
  list(request: PageRequest): Promise<Page>;

  /**
   * Reads a page as it was at the given revision.
   * @returns `compacted` when that history is gone
   * @throws StoreUnavailable as `get`; also, `refused` or `failed`, when the store has not reached the revision
   * @throws RangeError where the limit is not 1 to `PAGE_ENTRIES_MAX`
   */
  listAt(request: PageRequest, revision: number): Promise<Page | 'compacted'>;

  /**
   * Carries out a change, all of it or nothing. A change that was acknowledged is on the disk of the store, and every
   * read that begins afterwards sees it (A12).
   * @returns `conflict` where an expectation does not hold; nothing was then written
   * @throws StoreUnavailable `full` when the store takes no more data, else as `get`. Unless the message says that the
   *   change was not sent, it is unknown whether it happened: the caller looks for its marker.
   * @throws Busy `queue_full` where too many commits wait already; this one was not sent
   * @throws RangeError for a change that the contract rules out: too large, a key twice, `head`, or no Unicode text
   */
  commit(change: Change): Promise<CommitResult>;

  /**
   * Reads `head`, linearizable as `get` is: one tiny read, on the path of every request.
   * @throws StoreUnavailable as `get`
   */
  head(): Promise<Head>;

  /**
   * As `head`, at once: only a store that has it in memory offers this.
   * @throws StoreUnavailable `closed`
   */
  headNow?(): Head;

  /**
   * Reads `head` as it was at a revision.
   * @returns `compacted` when that history is gone, `future` when the store has not reached the revision
   * @throws StoreUnavailable as `get`
   */
  headAt(revision: number): Promise<Head | 'compacted' | 'future'>;

  /**
   * Watches the keys under the prefix from a revision on (inclusive). One attempt: the watch ends at the first trouble,
   * and on etcd also when the store does not confirm it within the deadline. Trouble is told by `onEnd`, never thrown.
   */
  watch(prefix: string, from: number, listener: WatchListener): Watch;

  /**
   * Forgets history older than a revision. No read can return what is older any more; on the embedded store no byte of
   * a removed or overwritten value is left in the files.
   * @returns the revision that was compacted to: the one given, or an older one where this store retains that
   * @throws StoreUnavailable as `get`
   */
  compact(revision: number): Promise<number>;

  /**
   * Keeps listings at this revision possible until it is disposed: `compact` on this store goes no further. It does
   * not hold up the compactions of others, nor does it bring back what is gone.
   */
  retain(revision: number): Retained;

  /**
   * Puts a key that lives as long as its holder, quietly. When the holder's process dies, the key is gone within the
   * time to live on etcd, and with the next opening on SQLite. Disposing of the store ends its holds.
   * @param ttlMs more than 0, at most `HOLD_TTL_MS_MAX`; on etcd it is rounded up to seconds
   * @returns `taken` when the key exists
   * @throws StoreUnavailable as `commit`: the key is then there for one more time to live at most
   * @throws RangeError for a key, a value or a time to live that the contract rules out
   */
  hold(key: Key, value: string, ttlMs: number): Promise<Held | 'taken'>;

  /**
   * How full the store is, 0 to 1: as last seen, and what this process has written since. 1 where it takes no writes at
   * all; NaN where it cannot be told. Never throws.
   */
  fullness(): number;
}

/** A key that lives as long as its holder: leadership, presence. */
export interface Held {
  /**
   * The revision of the commit that put the key: the fencing token. An expectation of this revision fails once the key
   * is gone or was written by somebody else. Changes with `rewrite`.
   */
  readonly revision: number;

  /**
   * Aborts when the key may be gone: it could not be renewed in time, or the store said so. `release` does not abort
   * it.
   */
  readonly lost: AbortSignal;

  /**
   * Puts another value under the same expiry.
   * @returns `lost` when the key is no longer this holder's
   * @throws StoreUnavailable as `Store.commit`
   * @throws RangeError for a value that is not Unicode text
   */
  rewrite(value: string): Promise<'written' | 'lost'>;

  /** Removes the key at once, if it can; a key that cannot be removed expires. Idempotent, never throws. */
  release(): Promise<void>;
}

/** Keeps a revision from being compacted until it is disposed of. Idempotent. */
export type Retained = Disposable;

/** An open watch. */
export interface Watch {
  /** Ends the watch; `onEnd('closed')` follows unless it has ended already. Idempotent. */
  close(): void;
}

/**
 * The store did not answer in time, refused for a reason of its own (full, not permitted), or cannot be reached.
 * The message names the operation and the reason, never a key's value.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  /** A closed set, fit for a metric label. */
  readonly reason: StoreTrouble;

  constructor(reason: StoreTrouble, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Whether a call failed since the store takes no more data. Such a call did nothing. */
export const isFull = (error: unknown): error is StoreUnavailable =>
  error instanceof StoreUnavailable && error.reason === 'full';

/**
 * `timeout`: no answer in time, or none that is new enough. `unreachable`: no connection. `full`: it takes no more.
 * `refused`: not permitted, or in use elsewhere. `replaced`: gone, empty or another store (A14). `readonly`: no writes.
 * `corrupt`: a damaged file. `divided`: members disagree. `closed`: it was disposed of. `failed`: any other trouble.
 */
export type StoreTrouble =
  | 'timeout'
  | 'unreachable'
  | 'full'
  | 'refused'
  | 'replaced'
  | 'readonly'
  | 'corrupt'
  | 'divided'
  | 'closed'
  | 'failed';

/**
 * The key range that replicas keep in memory, and the key every commit that is not quiet writes. `head` lies in the
 * range, so that one watch sees both (docs/ARCHITECTURE.md).
 */
export const CACHED_PREFIX = 'd/';
export const HEAD_KEY = 'd/head' as Key;
