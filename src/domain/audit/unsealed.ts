import { pagesOf } from '../../store/pages.ts';
import { PAGE_ENTRIES_MAX, StoreUnavailable, type Store, type WatchBatch } from '../../store/port.ts';
import { openWatch, type OpenWatch } from '../../store/watch-handle.ts';
import type { Clock } from '../../time/clock.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import { chainSchema } from '../records/audit-records.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { Due } from './seal.ts';

/** A net below the watch: one that is silent without saying so is opened anew. */
const BEGIN_ANEW_MS = HOUR_MS;

/** Which accounts have entries that are in no block. For one term of one leader. */
export interface Unsealed extends Disposable {
  /**
   * Everything that was seen since it was last asked. What is not sealed then must be given back.
   * @throws StoreUnavailable where it cannot be told now; nothing is lost by that
   */
  take(): Promise<readonly Due[]>;
  giveBack(due: Due): void;
}

/**
 * A watch tells of new entries; a listing of all keys tells of those that were there before, at the beginning and
 * whenever the watch has missed something. In memory lies one key an account: the first that may be unsealed.
 */
export function createUnsealed(store: Store, clock: Clock): Unsealed {
  /** By account, the first key (its last part) that may be unsealed. */
  let first = new Map<string, string>();
  let watch: OpenWatch | undefined;
  /** Every entry up to this revision has been told by the watch, or was there when it began. */
  let delivered = 0;
  let listedAt: number | undefined;
  let isOver = false;

  function mark(key: string): void {
    const [accountId = '', suffix = ''] = key.slice(KEYS.auditsAll.length).split('/');
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
      const { revision } = await store.list({ prefix: KEYS.auditsAll, limit: 1, keysOnly: true });
      delivered = revision;
    }
    // The term may have ended while this waited: nobody would close another watch.
    if (isOver) throw new StoreUnavailable('closed', 'The audit is followed no longer.');
    const opened = openWatch(store, KEYS.auditsAll, delivered + 1, onBatch);
    watch = opened;
    void opened.ended.then((reason) => {
      // What came between is gone: the next round begins anew.
      if (reason === 'compacted' && watch === opened) listedAt = undefined;
    });
    await opened.opened;
  }

  /** The watch is open by now: what a page does not have yet, it will tell. */
  async function listAll(): Promise<void> {
    const startedAt = clock.monotonic();
    const through = new Map<string, number>();
    for await (const { entries } of pagesOf(store, { prefix: KEYS.chains, limit: PAGE_ENTRIES_MAX })) {
      for (const entry of entries) through.set(entry.key.slice(KEYS.chains.length), throughOf(entry));
    }
    const request = { prefix: KEYS.auditsAll, limit: PAGE_ENTRIES_MAX, keysOnly: true };
    for await (const { entries } of pagesOf(store, request)) {
      for (const { key, revision } of entries) {
        const accountId = key.slice(KEYS.auditsAll.length).split('/')[0] ?? '';
        if (revision > (through.get(accountId) ?? 0)) mark(key);
      }
    }
    listedAt = startedAt;
  }

  return {
    async take() {
      if (listedAt !== undefined && clock.monotonic() - listedAt >= BEGIN_ANEW_MS) {
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
      mark(`${KEYS.auditsAll}${accountId}/${from}`);
    },
    [Symbol.dispose]() {
      isOver = true;
      watch?.close();
    },
  };
}

type ChainEntry = Parameters<typeof parseRecord>[1];

/** A head that cannot be read seals nothing: its account is looked at, and then said to be broken. */
function throughOf(entry: ChainEntry): number {
  try {
    return parseRecord(chainSchema, entry).record.through;
  } catch {
    return 0;
  }
}
