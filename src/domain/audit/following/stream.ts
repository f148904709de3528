import { inParallel } from '../../../concurrency/in-parallel.ts';
import type { Entry, Store } from '../../../store/port.ts';
import { LIMITS } from '../../limits.ts';
import { partsOfAuditKey } from '../../records/audit-records.ts';
import { KEYS } from '../../records/keys.ts';
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
}

/** Accounts that are read at a time. */
const ACCOUNTS_AT_ONCE = 4;
/** Entries of one account in a portion, where few accounts have some, and where many do. */
const ENTRIES_OF_ONE = 500;
const [MANY_ACCOUNTS, ENTRIES_OF_MANY] = [50, 20];

/**
 * Creates a stream that begins after a place. The news tell the accounts with new entries, and from which key on: so a
 * portion costs a read for each of these accounts, and none for the others. A portion is bounded in bytes; what
 * is beyond it is read again by a later one, which passes over the accounts whose next entry comes after its end.
 */
export function createAuditStream(store: Store, news: AuditNews, after: StreamPlace): AuditStream {
  let place = after;
  /** The revisions before which the accounts that are read again have nothing. */
  let notBefore = new Map<string, number>();
  // Some entries of the revision may be after the place.
  const follower = news.follow(async () => () => place.revision - 1);
  return {
    async next() {
      const { due, upTo } = await follower.take();
      try {
        const portion = new Portion(place, upTo, due.length > MANY_ACCOUNTS ? ENTRIES_OF_MANY : ENTRIES_OF_ONE);
        const from = (one: Due): number => notBefore.get(one.accountId) ?? 0;
        const inOrder = due.toSorted((a, b) => from(a) - from(b));
        await inParallel(
          inOrder,
          { atOnce: ACCOUNTS_AT_ONCE },
          async (one) => await portion.read(store, one, from(one)),
        );
        const { entries, left } = portion.end();
        for (const one of left) follower.giveBack(one);
        notBefore = new Map(left.map(({ accountId, revision }) => [accountId, revision]));
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

/** An account that is to be read again. */
interface Left extends Pick<Due, 'accountId' | 'from'> {
  /** It has nothing before this revision. */
  readonly revision: number;
}

/** Collects the first entries after a place, as many as have room. */
class Portion {
  readonly #after: StreamPlace;
  readonly #known: number;
  readonly #limit: number;
  /** All entries up to this revision are given; those between it and the known ones are still to be read. */
  #upTo: number;
  #found: Entry[] = [];
  #bytes = 0;
  /** The first key of each account that is to be read again, and the first revision that an entry of it has. */
  readonly #left = new Map<string, { readonly from: string; readonly revision: number }>();

  /** @param known the revision up to which all entries are known @param limit the entries of one account at most */
  constructor(after: StreamPlace, known: number, limit: number) {
    [this.#after, this.#known, this.#upTo, this.#limit] = [after, known, known, limit];
  }

  /** @param notBefore the account has no entry before this revision */
  async read(store: Store, { accountId, from }: Due, notBefore: number): Promise<void> {
    if (notBefore > this.#upTo) return this.#leave(accountId, from, notBefore);
    const prefix = KEYS.audit.under(accountId);
    const { entries, rest } = await firstInOrder(store, {
      prefix,
      // A listing begins after a key. The key without its last character sorts before `from`.
      from: prefix + from.slice(0, -1),
      isAsked: (entry) => entry.revision <= this.#known && this.#isAfter(entry),
      limit: this.#limit,
    });
    const last = entries.at(-1);
    if (rest !== undefined) {
      this.#leave(accountId, partsOfAuditKey(rest).suffix, last?.revision ?? 0);
      // Some entries of the last revision may be missing.
      if (last) this.#upTo = Math.min(this.#upTo, last.revision - 1);
    }
    for (const entry of entries) this.#bytes += Buffer.byteLength(entry.value);
    this.#found.push(...entries);
    if (this.#bytes > 2 * LIMITS.auditPortionBytesMax) this.#shorten();
  }

  end(): { readonly entries: readonly StreamedEntry[]; readonly left: readonly Left[] } {
    this.#shorten();
    return {
      entries: this.#found.map(streamed),
      left: [...this.#left].map(([accountId, one]) => ({ accountId, ...one })),
    };
  }

  /** Keeps the oldest entries that have room. A commit is smaller than a portion, so that some are always kept. */
  #shorten(): void {
    this.#found.sort(byStoreOrder);
    const kept: Entry[] = [];
    this.#bytes = 0;
    for (const entry of this.#found) {
      if (this.#bytes > LIMITS.auditPortionBytesMax) this.#upTo = Math.min(this.#upTo, entry.revision);
      if (entry.revision > this.#upTo) {
        const { accountId, suffix } = partsOfAuditKey(entry.key);
        this.#leave(accountId, suffix, entry.revision);
      } else {
        kept.push(entry);
        this.#bytes += Buffer.byteLength(entry.value);
      }
    }
    this.#found = kept;
  }

  #leave(accountId: string, from: string, revision: number): void {
    const known = this.#left.get(accountId);
    this.#left.set(accountId, {
      from: known === undefined || from < known.from ? from : known.from,
      revision: known === undefined ? revision : Math.min(known.revision, revision),
    });
  }

  #isAfter({ key, revision }: Entry): boolean {
    const { revision: last, key: lastKey } = this.#after;
    return revision > last || (revision === last && key.slice(KEYS.audit.under().length) > lastKey);
  }
}

const streamed = (stored: Entry): StreamedEntry => ({
  ...partsOfAuditKey(stored.key),
  key: stored.key.slice(KEYS.audit.under().length),
  revision: stored.revision,
  stored,
});
