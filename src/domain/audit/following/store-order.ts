import { PAGE_ENTRIES_MAX, type Entry, type Store } from '../../../store/port.ts';
import { instantOf, placeAt } from '../../records/audit-records.ts';

/*
 * Lists of an audit follow the store's order: the revision, and within one the key. Keys begin with the instant at
 * which a commit was sent, and commits that are under way together may end in another order. So what is near in time is
 * read together, and then ordered. A cursor names an entry, and stands for its place in that order: whoever follows an
 * audit sees also an entry that was committed late, under a key before the cursor.
 */

/**
 * The instants of two entries are in another order than their commits by so much at most: a commit is sent twice, with
 * 2 s each (H15), and the clocks of replicas may be a few seconds apart.
 */
export const SPREAD_MS = 10_000;

/** The place of an entry in an audit. */
export interface Place {
  /** The last part of its key. */
  readonly suffix: string;
  /** Milliseconds since 1970; 0 where the key does not tell. */
  readonly instant: number;
  /** Undefined where the entry is not there any more: then keys alone tell the order. */
  readonly revision: number | undefined;
}

/** The place that a cursor names. @throws StoreUnavailable */
export async function placeOf(store: Pick<Store, 'get'>, prefix: string, cursor: string): Promise<Place> {
  const entry = await store.get(prefix + cursor);
  return { suffix: cursor, instant: instantOf(cursor) || 0, revision: entry?.revision };
}

/** Compares an entry with a place, in the order of the store: below 0 where it is before. */
export function compareTo(place: Place, suffix: string, revision: number): number {
  const difference = place.revision === undefined ? 0 : revision - place.revision;
  if (difference !== 0) return difference;
  return suffix < place.suffix ? -1 : suffix > place.suffix ? 1 : 0;
}

export const byStoreOrder = (a: Entry, b: Entry): number => a.revision - b.revision || (a.key < b.key ? -1 : 1);

/** A page of entries in the order of the store, oldest first. */
interface OrderedPage {
  readonly entries: readonly Entry[];
  /** The cursor of the next page; undefined after the last one. */
  readonly next: string | undefined;
}

/** Entries that are read beyond a small page at once, as its order needs those of the next seconds. */
const BEYOND = 100;

/** Lists entries in the order of the store, after the place that `after` names. @throws StoreUnavailable */
export async function listInOrder(
  store: Store,
  prefix: string,
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
): Promise<OrderedPage> {
  const place = after === undefined ? undefined : await placeOf(store, prefix, after);
  const from = place && prefix + placeAt(place.instant - SPREAD_MS);
  const isAsked = (entry: Entry): boolean =>
    !place || compareTo(place, entry.key.slice(prefix.length), entry.revision) > 0;
  const { entries, rest } = await firstInOrder(store, { prefix, from, isAsked, limit });
  const last = entries.at(-1);
  return { entries, next: rest !== undefined && last ? last.key.slice(prefix.length) : undefined };
}

/** Says which entries of an audit are read. */
interface Asked {
  readonly prefix: string;
  /** Keys up to this one are not read. */
  readonly from: string | undefined;
  readonly isAsked: (entry: Entry) => boolean;
  readonly limit: number;
}

/** The first entries that are asked for. */
interface InOrder {
  readonly entries: readonly Entry[];
  /** A key that none of those sorts before which were left out; undefined where all are given. */
  readonly rest: string | undefined;
}

/**
 * Reads the first entries that are asked for, in the order of the store. All are of the revision at which the first
 * page was read, so that none is left out which was committed before one that is given.
 * @throws StoreUnavailable
 */
export async function firstInOrder(store: Store, { prefix, from, isAsked, limit }: Asked): Promise<InOrder> {
  let found: Entry[] = [];
  let rest: string | undefined;
  let revision: number | undefined;
  let [after, ask] = [from, Math.min(limit + BEYOND, PAGE_ENTRIES_MAX)];
  const leaveOut = (key: string): void => {
    if (rest === undefined || key < rest) rest = key;
  };
  for (;;) {
    const page = await store.list({ prefix, limit: ask, after });
    revision ??= page.revision;
    for (const entry of page.entries) {
      if (!isAsked(entry)) continue;
      if (entry.revision > revision) leaveOut(entry.key);
      else found.push(entry);
    }
    found.sort(byStoreOrder);
    for (const { key } of found.slice(limit)) leaveOut(key);
    found = found.slice(0, limit);
    if (page.next === undefined) return { entries: found, rest };
    const instant = (key: string): number => instantOf(key.slice(prefix.length)) || 0;
    const newest = Math.max(0, ...found.map(({ key }) => instant(key)));
    // Whatever is not read yet is later than all of these.
    if (found.length === limit && instant(page.next) > newest + SPREAD_MS) {
      leaveOut(page.next);
      return { entries: found, rest };
    }
    [after, ask] = [page.next, PAGE_ENTRIES_MAX];
  }
}
