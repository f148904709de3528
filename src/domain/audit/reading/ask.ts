import type { Entry, Store } from '../../../store/port.ts';
import type { AuditRecord } from '../../records/audit-records.ts';
import { KEYS } from '../../records/keys.ts';
import { readIndex } from '../index/find.ts';
import { BUCKET_ENTRIES } from '../index/segment.ts';
import { hashOf, termsAskedFor } from '../index/terms.ts';
import { BoundedReads } from './bounded-reads.ts';
import { allBetween } from './gaps.ts';
import { foundIn, type AuditBounds, type AuditOrder, type Found } from './question.ts';
import { Segments, type Piece } from './segments.ts';
import { compareTo, placeOf } from '../store-order.ts';
import { UnreadBackwards, UnreadForwards, type Unread } from './unread.ts';

/** A page of an audit that is asked for. */
export interface Asked extends AuditBounds {
  readonly order: AuditOrder;
  readonly limit: number;
  /** The `next` of the page before. */
  readonly cursor?: string | undefined;
}

/** A page of an audit; `next` is there when more entries may follow. */
export interface AskedEntries {
  readonly items: readonly AuditRecord[];
  readonly next: string | undefined;
}

/**
 * Reads a page of what is asked for, in the order of the store: the parts that may have it, as the index says, and what
 * the index does not describe. It is given as soon as nothing that is not read can stand before it. A page reads
 * `PAGE_RECORDS_MAX` records at most; where that ends it, `next` names the place, which is that of no entry.
 *
 * The order is not exact in one case: more entries that no segment describes than one page reads lie within
 * `SPREAD_MS`. Nothing is left out then, and nothing is given twice.
 * @param charge see `BoundedReads`
 * @throws StoreUnavailable; BadRecord where an entry that is read is damaged
 */
export async function askAudit(
  store: Pick<Store, 'get' | 'list'>,
  accountId: string,
  asked: Asked,
  charge: () => void = () => undefined,
): Promise<AskedEntries> {
  const reads = new BoundedReads(store, charge);
  const prefix = KEYS.audit.under(accountId);
  const { order, limit, cursor } = asked;
  const place = cursor === undefined ? undefined : await placeOf(reads, prefix, cursor);
  const { record } = (await readIndex(reads, accountId)).index;
  const hashes = termsAskedFor(asked).map(hashOf);
  const segments = record && new Segments(reads, accountId, record, hashes);
  const deps = { reads, prefix, segments, bounds: asked, place };
  const unread: Unread = order === 'desc' ? new UnreadBackwards(deps) : new UnreadForwards(deps);
  const sign = order === 'desc' ? -1 : 1;
  const byOrder = (a: Found, b: Found): number => sign * (a.revision - b.revision || (a.suffix < b.suffix ? -1 : 1));

  const items: Found[] = [];
  let held: Found[] = [];
  const hold = (entries: readonly Entry[]): void => {
    const found = foundIn(accountId, entries, asked).filter(
      ({ suffix, revision }) => !place || sign * compareTo(place, suffix, revision) > 0,
    );
    if (found.length > 0) held = [...held, ...found].sort(byOrder);
  };
  const give = (isSafe: (one: Found) => boolean): void => {
    const until = held.findIndex((one) => !isSafe(one));
    const given = held.slice(0, Math.min(limit - items.length, until < 0 ? held.length : until));
    items.push(...given);
    held = held.slice(given.length);
  };
  const page = (next: string | undefined): AskedEntries => ({ items: items.map((one) => one.record), next });

  for (;;) {
    give((one) => !unread.planMayPrecede(one) && !unread.restMayPrecede(one));
    if (held.length === 0 && unread.isEmpty) return page(undefined);
    if (items.length === limit) return page(items.at(-1)?.suffix);
    if (reads.isOver) {
      if (items.length === 0) give(() => true);
      return page(held.length === 0 ? unread.cursor() : items.at(-1)?.suffix);
    }
    const [first] = held;
    if (unread.plan.length > 0 && (!first || unread.planMayPrecede(first))) {
      const next = taken(unread.plan, Math.ceil((limit - items.length - held.length) / BUCKET_ENTRIES));
      hold(await allBetween(reads, prefix, next.after, next.before, next.count * BUCKET_ENTRIES));
    } else hold(await unread.extend());
  }
}

/** Pieces that are read at once at most: see `STEP_RECORDS`. */
const PIECES_MAX = 4;

/** Takes the next piece of a plan, and as many as are wanted of those that lie beside it. */
function taken(plan: Piece[], wanted: number): Pick<Piece, 'after' | 'before'> & { readonly count: number } {
  const [first, ...others] = plan;
  let { after, before } = first ?? { after: '', before: '' };
  let count = 1;
  for (const other of others) {
    if (count >= Math.min(wanted, PIECES_MAX)) break;
    if (other.before === after) ({ after } = other);
    else if (other.after === before) ({ before } = other);
    else break;
    count += 1;
  }
  plan.splice(0, count);
  return { after, before, count };
}
