import { pagesOf } from '../../store/pages.ts';
import { HEAD_KEY, PAGE_ENTRIES_MAX, StoreUnavailable, type Store, type WatchBatch } from '../../store/port.ts';
import { openWatch, type OpenWatch } from '../../store/watch-handle.ts';
import type { Clock } from '../../time/clock.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import { KEYS } from '../records/keys.ts';
import { parseRecord } from '../records/codec.ts';
import type { Due } from './seal.ts';

/** The watch is opened anew this often, in case it is silent without having ended. */
const REOPEN_EVERY_MS = HOUR_MS;

/** The accounts with entries that are in no block, for one term of one leader. */
export interface Unsealed extends Disposable {
  /**
   * Returns the accounts with new entries since the last call. An account that is then not sealed must be given back.
   * @throws StoreUnavailable; the accounts are then returned by a later call
   */
  take(): Promise<readonly Due[]>;
  /** Makes the next `take` return an account again. */
  giveBack(due: Due): void;
}

/**
 * Creates the list of such accounts for a term. A watch brings new entries; a listing of all keys finds the entries
 * that were there before, at the beginning and whenever the watch has missed something. Memory has one key per account:
 * the first that may be unsealed.
 */
export function createUnsealed(store: Store, clock: Clock): Unsealed {
  /** The first key (its last part) of each account that may be unsealed. */
  let first = new Map<string, string>();
  let watch: OpenWatch | undefined;
  /** Every entry up to this revision was brought by the watch, or was there when it began. */
  let delivered = 0;
  let listedAt: number | undefined;
  let isDisposed = false;

  function mark(key: string): void {
    const [accountId = '', suffix = ''] = key.slice(KEYS.audit.under().length).split('/');
    const known = first.get(accountId);
    if (known === undefined || suffix < known) first.set(accountId, suffix);
  }

  function onBatch({ revision, changes }: WatchBatch): void {
    for (const { key, value } of changes) if (value !== undefined) mark(key);
    delivered = Math.max(delivered, revision);
  }

  async function follow(): Promise<void> {
    if (watch && !watch.isOver) return;
    if (listedAt === undefined) {
      // The revision of the store alone is wanted: etcd would count all keys of a larger range.
      ({ revision: delivered } = await store.list({ prefix: HEAD_KEY, limit: 1, keysOnly: true }));
    }
    // The term may have ended meanwhile: a watch that is opened now would never be closed.
    if (isDisposed) throw new StoreUnavailable('closed', 'The watch of the audit is closed.');
    const opened = openWatch(store, KEYS.audit.under(), delivered + 1, onBatch);
    watch = opened;
    void opened.ended.then((reason) => {
      // The changes in between are lost: the next call lists everything again.
      if (reason === 'compacted' && watch === opened) listedAt = undefined;
    });
    await opened.opened;
  }

  /** The watch must be open: it brings the entries that a page does not have yet. */
  async function listAll(): Promise<void> {
    const startedAt = clock.monotonic();
    const through = new Map<string, number>();
    for await (const { entries } of pagesOf(store, { prefix: KEYS.chain.under(), limit: PAGE_ENTRIES_MAX })) {
      for (const entry of entries) through.set(entry.key.slice(KEYS.chain.under().length), throughOf(entry));
    }
    const request = { prefix: KEYS.audit.under(), limit: PAGE_ENTRIES_MAX, keysOnly: true };
    for await (const { entries } of pagesOf(store, request)) {
      for (const { key, revision } of entries) {
        const accountId = key.slice(KEYS.audit.under().length).split('/')[0] ?? '';
        if (revision > (through.get(accountId) ?? 0)) mark(key);
      }
    }
    listedAt = startedAt;
  }

  return {
    async take() {
      if (listedAt !== undefined && clock.monotonic() - listedAt >= REOPEN_EVERY_MS) {
        watch?.close();
        listedAt = undefined;
      }
      await follow();
      if (listedAt === undefined) await listAll();
      const upTo = delivered;
      const due = [...first].map(([accountId, from]) => ({ accountId, from, upTo }));
      first = new Map();
      return due;
    },
    giveBack({ accountId, from }) {
      mark(`${KEYS.audit.under()}${accountId}/${from}`);
    },
    [Symbol.dispose]() {
      isDisposed = true;
      watch?.close();
    },
  };
}

type ChainEntry = Parameters<typeof parseRecord>[1];

/** An unreadable head seals nothing: sealing its account then reports that the chain is broken. */
function throughOf(entry: ChainEntry): number {
  try {
    return parseRecord(KEYS.chain, entry).record.through;
  } catch {
    return 0;
  }
}
