import { PAGE_ENTRIES_MAX, expectUnchanged, type Entry, type Expectation, type Store } from '../../../store/port.ts';
import type { Clock } from '../../../time/clock.ts';
import { instantOf, suffixOf, type AuditIndexRecord, type SegmentRecord } from '../../records/audit-records.ts';
import { BadRecord, parseRecord, put, type Versioned } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';
import { readChain } from '../seal.ts';
import { newestSegment, readIndex, readSegment } from './find.ts';
import { BUCKET_ENTRIES, cutBefore, lastOf, segmentOf, withBucket, type Bucket } from './segment.ts';
import { termsOf } from './terms.ts';

/*
 * The index of an audit: its segments, one after the other from its beginning. The leader alone writes it, beside the
 * chain, and may be stopped anywhere: whatever no segment describes is read entry by entry.
 */

/** An entry that is older than this has no older one beside it that is still to come: see `SPREAD_MS`. */
export const CLOSED_AFTER_MS = 60_000;

interface IndexDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  /** The fence of the leader's term: every commit expects it. */
  readonly fence: readonly Expectation[];
}

/** What a step has done. */
interface Indexed {
  /** How many entries are described now that were not. */
  readonly entries: number;
  /** How many are left, or at least so many. */
  readonly left: number;
}

/**
 * Describes up to a thousand further entries of an account. Those are taken that are sealed, and so old that no other
 * one can come to lie between them; a bucket is always full.
 * @throws StoreUnavailable; BadRecord where the head of the chain cannot be read
 */
export async function indexMore({ store, clock, fence }: IndexDeps, accountId: string): Promise<Indexed> {
  const { index, storeId } = await readIndex(store, accountId);
  const { through: sealed } = (await readChain(store, accountId)).record;
  const prefix = KEYS.audit.under(accountId);
  const after = index.record?.through ?? '';
  const { entries, next: further } = await store.list({ prefix, after: prefix + after, limit: PAGE_ENTRIES_MAX });
  const isClosed = ({ key, revision }: Entry): boolean =>
    revision <= sealed && instantOf(suffixOf(accountId, key)) <= clock.now() - CLOSED_AFTER_MS;
  const buckets = bucketsOf(accountId, entries, isClosed);
  if (buckets.length === 0) return { entries: 0, left: entries.length };

  const { last = 0, first = 1 } = index.record ?? {};
  let number = last;
  let segment = last > 0 ? await readSegment(store, accountId, last) : undefined;
  let through = after;
  const written = new Map<number, Versioned<SegmentRecord>>();
  for (const bucket of buckets) {
    // A segment that does not end where the index does is none of it.
    const isNewest = segment?.record && lastOf(segment.record) === through;
    let record = isNewest && segment?.record ? withBucket(segment.record, bucket) : undefined;
    if (!segment || !record) {
      number += 1;
      segment = await readSegment(store, accountId, number);
      record = segmentOf(through, bucket);
    }
    segment = { ...segment, record };
    written.set(number, { ...segment, record });
    through = bucket.last;
  }
  const next: AuditIndexRecord = { ...index.record, first, last: number, through, revision: sealed, storeId };
  const segments = Array.from(written);
  const result = await store.commit({
    expect: [expectUnchanged(index), ...segments.map(([, one]) => expectUnchanged(one)), ...fence],
    write: [
      put(KEYS.auditIndex(accountId), next),
      ...segments.map(([at, { record }]) => put(KEYS.auditSegment(accountId, at), record)),
    ],
    quiet: true,
  });
  // Whoever was faster has described them.
  const done = result.outcome === 'conflict' ? 0 : buckets.length * BUCKET_ENTRIES;
  return { entries: done, left: further === undefined ? entries.length - done : entries.length };
}

/** The full buckets at the beginning of what was listed. */
function bucketsOf(
  accountId: string,
  entries: readonly Entry[],
  isClosed: (entry: Entry) => boolean,
): readonly Bucket[] {
  const buckets: Bucket[] = [];
  for (let at = 0; at + BUCKET_ENTRIES <= entries.length; at += BUCKET_ENTRIES) {
    const own = entries.slice(at, at + BUCKET_ENTRIES);
    const last = own.at(-1);
    if (!last || !own.every(isClosed)) break;
    const terms = readableTerms(accountId, own);
    // Nothing stands in for an entry that cannot be read: a question that reaches it says so.
    if (!terms) break;
    const revisions = own.map(({ revision }) => revision);
    const [low, high] = [Math.min(...revisions), Math.max(...revisions)];
    buckets.push({ last: suffixOf(accountId, last.key), low, high, terms });
  }
  return buckets;
}

function readableTerms(accountId: string, entries: readonly Entry[]): ReadonlySet<string> | undefined {
  try {
    return new Set(entries.flatMap((entry) => termsOf(accountId, parseRecord(KEYS.audit, entry).record)));
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
    return undefined;
  }
}

/**
 * Takes back what the index says from an entry on that came late, under a key of a stretch that was closed: the clock
 * of its replica was behind by more than `CLOSED_AFTER_MS`. It is called before that entry is sealed.
 * @returns false where another process changed the index meanwhile: call again
 * @throws StoreUnavailable
 */
export async function reopenFrom({ store, fence }: IndexDeps, accountId: string, suffix: string): Promise<boolean> {
  const { index } = await readIndex(store, accountId);
  const head = index.record;
  if (!head || suffix > head.through) return true;
  const read = async (at: number) => (await readSegment(store, accountId, at)).record;
  const number = await newestSegment(head, read, ({ after }) => after < suffix);
  if (number < head.first) return true;
  const segment = await readSegment(store, accountId, number);
  const cut = segment.record && cutBefore(segment.record, suffix);
  const through = cut ? lastOf(cut) : (segment.record?.after ?? '');
  const last = cut ? number : number - 1;
  const key = KEYS.auditIndex(accountId);
  // Later segments are written anew as the index grows again; until then its head does not name them.
  const result = await store.commit({
    expect: [expectUnchanged(index), ...(cut ? [expectUnchanged(segment)] : []), ...fence],
    write:
      last < head.first || through === ''
        ? [{ remove: key }]
        : [put(key, { ...head, last, through }), ...(cut ? [put(KEYS.auditSegment(accountId, number), cut)] : [])],
    quiet: true,
  });
  return result.outcome === 'committed';
}
