import { inParallel } from '../../concurrency/in-parallel.ts';
import type { Entry, Store } from '../../store/port.ts';
import { LIMITS } from '../limits.ts';
import { KEYS } from '../records/keys.ts';
import type { AuditNews, Due } from './news.ts';
import { byStoreOrder, firstInOrder } from './store-order.ts';

/** A place in the order of the store: an entry of some audit, or where it was. */
export interface StreamPlace {
  readonly revision: number;
  /** The key after the prefix of all audits: `<accountId>/<entry>`; `''` is before all entries of the revision. */
  readonly key: string;
}

/** An entry of some audit. */
export interface StreamedEntry extends StreamPlace {
  readonly accountId: string;
  /** The last part of its key. */
  readonly suffix: string;
  /** As the store has it. */
  readonly stored: Entry;
}

/** The entries of all audits, in the order of the store. */
export interface AuditStream extends Disposable {
  /**
   * Reads the next entries, none where there are no more yet. Each call goes on after the one before.
   * @throws StoreUnavailable; nothing is lost, and a later call goes on
   */
  next(): Promise<readonly StreamedEntry[]>;
  /** Aborts when a further entry is seen. */
  readonly wakes: AbortSignal;
}

/** Accounts that are read at a time, and entries of one account in a portion. */
const ACCOUNTS_AT_ONCE = 4;
const ENTRIES_OF_ONE = 500;

/**
 * Creates a stream that begins after a place. The news tell the accounts with new entries, and from which key on: so a
 * portion costs a read for each of these accounts, and none for the others. A portion is bounded in bytes; what
 * is beyond it is read again by the next one.
 */
export function createAuditStream(store: Store, news: AuditNews, after: StreamPlace): AuditStream {
  let place = after;
  // Some entries of the revision may be after the place.
  const follower = news.follow(async () => () => place.revision - 1);
  return {
    get wakes() {
      return follower.wakes;
    },
    async next() {
      const { due, upTo } = await follower.take();
      try {
        const portion = new Portion(place, upTo);
        await inParallel(due, { atOnce: ACCOUNTS_AT_ONCE }, async (one) => await portion.read(store, one));
        const { entries, left } = portion.end();
        for (const one of left) follower.giveBack(one);
        place = entries.at(-1) ?? place;
        return entries;
      } catch (error) {
        for (const one of due) follower.giveBack(one);
        throw error;
      }
    },
    [Symbol.dispose]() {
      follower[Symbol.dispose]();
    },
  };
}

/** Collects the first entries after a place, as many as have room. */
class Portion {
  readonly #after: StreamPlace;
  readonly #known: number;
  /** Of the entries up to this revision all are given; those between it and the known ones are still to be read. */
  #upTo: number;
  #found: Entry[] = [];
  #bytes = 0;
  /** The first key of each account that is to be read again. */
  readonly #left = new Map<string, string>();

  constructor(after: StreamPlace, known: number) {
    [this.#after, this.#known, this.#upTo] = [after, known, known];
  }

  async read(store: Store, { accountId, from }: Due): Promise<void> {
    const prefix = KEYS.audit.under(accountId);
    const { entries, rest } = await firstInOrder(store, {
      prefix,
      // A listing begins after a key. The key without its last character sorts before `from`.
      from: prefix + from.slice(0, -1),
      isAsked: (entry) => entry.revision <= this.#known && this.#isAfter(entry),
      limit: ENTRIES_OF_ONE,
    });
    const last = entries.at(-1);
    if (rest !== undefined) {
      this.#leave(rest);
      // Of the last revision not all entries may be there.
      if (last) this.#upTo = Math.min(this.#upTo, last.revision - 1);
    }
    for (const entry of entries) this.#bytes += Buffer.byteLength(entry.value);
    this.#found.push(...entries);
    if (this.#bytes > 2 * LIMITS.auditPortionBytesMax) this.#shorten();
  }

  end(): { readonly entries: readonly StreamedEntry[]; readonly left: readonly Pick<Due, 'accountId' | 'from'>[] } {
    this.#shorten();
    return {
      entries: this.#found.map(streamed),
      left: [...this.#left].map(([accountId, from]) => ({ accountId, from })),
    };
  }

  /** Keeps the oldest entries that have room. A commit is smaller than a portion, so that some are always kept. */
  #shorten(): void {
    this.#found.sort(byStoreOrder);
    const kept: Entry[] = [];
    this.#bytes = 0;
    for (const entry of this.#found) {
      if (this.#bytes > LIMITS.auditPortionBytesMax) this.#upTo = Math.min(this.#upTo, entry.revision);
      if (entry.revision > this.#upTo) this.#leave(entry.key);
      else {
        kept.push(entry);
        this.#bytes += Buffer.byteLength(entry.value);
      }
    }
    this.#found = kept;
  }

  #leave(key: string): void {
    const { accountId, suffix } = partsOf(key);
    const known = this.#left.get(accountId);
    if (known === undefined || suffix < known) this.#left.set(accountId, suffix);
  }

  #isAfter({ key, revision }: Entry): boolean {
    const { revision: last, key: lastKey } = this.#after;
    return revision > last || (revision === last && key.slice(KEYS.audit.under().length) > lastKey);
  }
}

function partsOf(key: string): { readonly accountId: string; readonly suffix: string } {
  const [accountId = '', suffix = ''] = key.slice(KEYS.audit.under().length).split('/');
  return { accountId, suffix };
}

const streamed = (stored: Entry): StreamedEntry => ({
  ...partsOf(stored.key),
  key: stored.key.slice(KEYS.audit.under().length),
  revision: stored.revision,
  stored,
});
