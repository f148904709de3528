import { pagesOf } from '../../../store/pages.ts';
import { HEAD_KEY, PAGE_ENTRIES_MAX, StoreUnavailable, type Store, type WatchBatch } from '../../../store/port.ts';
import { openWatch, type OpenWatch } from '../../../store/watch-handle.ts';
import type { Clock } from '../../../time/clock.ts';
import { HOUR_MS } from '../../../time/utc-days.ts';
import { auditKey, partsOfAuditKey } from '../../records/audit-records.ts';
import { KEYS } from '../../records/keys.ts';

/** The watch is opened anew this often, in case it is silent without having ended. */
const REOPEN_EVERY_MS = HOUR_MS;

/** An account with entries that its follower may not have. */
export interface Due {
  readonly accountId: string;
  /** The follower has every entry whose key (its last part) sorts before this one. */
  readonly from: string;
  /** Entries up to this store revision are known completely; beyond it, an earlier entry may still be unknown. */
  readonly upTo: number;
}

/**
 * Reads up to which revision a follower has the entries of each account; those after it are news. It is asked when
 * follower and watch may have missed something.
 */
export type Since = () => Promise<(accountId: string) => number>;

/** The accounts with new entries, for one who goes through all audits. */
export interface NewsFollower extends Disposable {
  /**
   * Returns the accounts with new entries since the last call, and the revision up to which these are all. An account
   * that is then not gone through must be given back.
   * @throws StoreUnavailable; the accounts are then returned by a later call
   */
  take(): Promise<{ readonly due: readonly Due[]; readonly upTo: number }>;
  /** Makes the next `take` return an account again. */
  giveBack(due: Pick<Due, 'accountId' | 'from'>): void;
}

/** Tells several followers of new entries, by one watch, which is open while there is one of them. */
export interface AuditNews {
  follow(since: Since): NewsFollower;
}

/**
 * Creates the news for a term. A watch brings new entries; a listing of all keys finds the entries that were there
 * before, at the beginning and whenever the watch has missed something. Memory has one key per follower and account:
 * the first that may be new to the follower.
 */
export function createAuditNews(store: Store, clock: Pick<Clock, 'monotonic'>): AuditNews {
  const followers = new Set<Follower>();
  let watch: OpenWatch | undefined;
  let opening: Promise<void> | undefined;
  /** Every entry up to this revision was brought by the watch, or was there when it began. */
  let delivered: number | undefined;
  /** Grows whenever the watch has missed something: each follower lists everything in each epoch once. */
  let epoch = 0;
  let listedAt = clock.monotonic();

  function onBatch({ revision, changes }: WatchBatch): void {
    for (const { key, value } of changes) {
      if (value !== undefined) for (const follower of followers) follower.mark(key);
    }
    delivered = Math.max(delivered ?? 0, revision);
  }

  async function open(): Promise<void> {
    if (delivered === undefined) {
      // The revision of the store alone is wanted: etcd would count all keys of a larger range.
      ({ revision: delivered } = await store.list({ prefix: HEAD_KEY, limit: 1, keysOnly: true }));
    }
    // All may have left meanwhile: a watch that is opened now would never be closed.
    if (followers.size === 0) throw closed();
    const opened = openWatch(store, KEYS.audit.under(), delivered + 1, onBatch);
    watch = opened;
    void opened.ended.then((reason) => {
      // The changes in between are lost: everything is listed again.
      if (reason === 'compacted' && watch === opened) beginAnew();
    });
    await opened.opened;
  }

  /** One of them opens the watch for all. */
  async function follow(): Promise<void> {
    if (watch?.isOver === false && !opening) return;
    opening ??= open().finally(() => (opening = undefined));
    await opening;
  }

  function beginAnew(): void {
    watch?.close();
    delivered = undefined;
    epoch += 1;
    listedAt = clock.monotonic();
  }

  class Follower implements NewsFollower {
    readonly #since: Since;
    #listedIn: number | undefined;
    /** The first key (its last part) of each account that may be new. */
    #first = new Map<string, string>();

    constructor(since: Since) {
      this.#since = since;
    }

    mark(key: string): void {
      const { accountId, suffix } = partsOfAuditKey(key);
      const known = this.#first.get(accountId);
      if (known === undefined || suffix < known) this.#first.set(accountId, suffix);
    }

    async take(): Promise<{ readonly due: readonly Due[]; readonly upTo: number }> {
      if (!followers.has(this)) throw closed();
      if (clock.monotonic() - listedAt >= REOPEN_EVERY_MS) beginAnew();
      await follow();
      if (this.#listedIn !== epoch) await this.#listAll();
      const upTo = delivered;
      if (this.#listedIn !== epoch || upTo === undefined)
        throw new StoreUnavailable('unreachable', 'The watch of the audit has missed entries.');
      const due = [...this.#first].map(([accountId, from]) => ({ accountId, from, upTo }));
      this.#first = new Map();
      return { due, upTo };
    }

    /** The watch must be open: it brings the entries that a page does not have yet. */
    async #listAll(): Promise<void> {
      const listing = epoch;
      const sinceOf = await this.#since();
      const request = { prefix: KEYS.audit.under(), limit: PAGE_ENTRIES_MAX, keysOnly: true };
      for await (const { entries } of pagesOf(store, request)) {
        for (const { key, revision } of entries) {
          if (revision > sinceOf(partsOfAuditKey(key).accountId)) this.mark(key);
        }
      }
      this.#listedIn = listing;
    }

    giveBack({ accountId, from }: Pick<Due, 'accountId' | 'from'>): void {
      this.mark(auditKey(accountId, from));
    }

    [Symbol.dispose](): void {
      followers.delete(this);
      if (followers.size === 0) beginAnew();
    }
  }

  return {
    follow(since) {
      const follower = new Follower(since);
      followers.add(follower);
      return follower;
    },
  };
}

const closed = (): StoreUnavailable => new StoreUnavailable('closed', 'The watch of the audit is closed.');
