import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BUCKET_ENTRIES,
  lastOf,
  segmentOf,
  withBucket,
  type Bucket,
} from '../../../../src/domain/audit/index/segment.ts';
import { isAskedFor, termsAskedFor, termsOf, type AuditFilter } from '../../../../src/domain/audit/index/terms.ts';
import { askAudit, type Asked } from '../../../../src/domain/audit/reading/ask.ts';
import { PAGE_RECORDS_MAX } from '../../../../src/domain/audit/reading/bounded-reads.ts';
import { SPREAD_MS } from '../../../../src/domain/audit/store-order.ts';
import { suffixOf, type AuditRecord, type SegmentRecord } from '../../../../src/domain/records/audit-records.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import type { Entry } from '../../../../src/store/port.ts';
import { HOUR_MS } from '../../../../src/time/utc-days.ts';
import { ACCOUNT } from '../../../support/records/audit.ts';
import { runs } from '../../../support/run/effort.ts';
import { entryOf, storeOf, type CountedStore } from '../../../support/store/counted-lists.ts';

/* Whatever is asked for, page after page: the same entries in the same order as a plain look through all of them. */

interface Written {
  readonly entry: Entry;
  readonly suffix: string;
  readonly record: AuditRecord;
}

const ACTORS = ['operator', 'user:ann', 'user:ann:token', 'user:bob', 'key:k1', 'device:rare'];
const ACTIONS = ['app.created', 'app.revoked', 'app.code.made', 'key.created', 'rare.deed'];
const BEGIN = 1_700_000_000_000;

/** How one entry differs from the one before: numbers that are drawn at random. */
interface Drawn {
  readonly gap: number;
  readonly late: number;
  readonly what: number;
  readonly together: boolean;
}

/** A generator of numbers that is as good as its seed is random, and fast. */
function* numbers(seed: number): Generator<number, never> {
  for (let state = seed | 1; ;) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    yield ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  }
}

function drawn(seed: number, count: number): readonly Drawn[] {
  const random = numbers(seed);
  const next = (): number => random.next().value;
  return Array.from({ length: count }, () => {
    const kind = next();
    // Some lie at one instant, some are hours apart, most within a second of each other.
    const gap = kind < 0.3 ? 0 : kind < 0.98 ? Math.floor(next() * 1500) : Math.floor(next() * 50 * HOUR_MS);
    return { gap, late: Math.floor(next() * SPREAD_MS), what: next(), together: next() < 0.2 };
  });
}

/** Entries by their instants; their commits end up to `SPREAD_MS` later, in another order. */
function audit(seed: number, count: number): readonly Written[] {
  let at = BEGIN;
  const planned = drawn(seed, count).map(({ gap, late, what, together }, index) => {
    at += gap;
    return { at, ends: at + late, what, together, index };
  });
  let revision = 10;
  const written: Written[] = [];
  for (const { at: instant, what, together, index } of planned.toSorted((a, b) => a.ends - b.ends)) {
    if (!together) revision += 1;
    const marker =
      Math.floor(what * 2 ** 32)
        .toString(16)
        .padStart(8, '0') + index.toString(16).padStart(24, '0');
    const isRare = what > 0.999;
    const pick = (list: readonly string[]): string => {
      const usual = Math.floor((what * 7919) % (list.length - 1));
      return list.at(isRare ? -1 : usual) ?? '';
    };
    const appId = what < 0.5 ? undefined : `app${Math.floor(what * 1000) % 40}`;
    const record: AuditRecord = {
      at: instant,
      actor: pick(ACTORS),
      action: ACTIONS.at(isRare ? -1 : index % (ACTIONS.length - 1)) ?? '',
      requestId: `r${index}`,
      detail: index % 5 === 0 ? { userId: `u${index % 3}` } : {},
      ...(appId !== undefined && { appId }),
    };
    const key = KEYS.audit(ACCOUNT, instant, marker);
    written.push({ entry: entryOf(key, revision, record), suffix: suffixOf(ACCOUNT, key), record });
  }
  return written;
}

const inStoreOrder = (a: Written, b: Written): number =>
  a.entry.revision - b.entry.revision || (a.suffix < b.suffix ? -1 : 1);

interface IndexState {
  readonly seed: number;
  /** The part of the audit that has segments, and that of segments which are missing. */
  readonly indexed: number;
  readonly missing: number;
  /** Buckets have so many entries at least, and 64 at most. */
  readonly bucketMin: number;
}

/** Segments over the oldest part of an audit, as they may lie in a store. */
function segmentsOver(written: readonly Written[], { seed, indexed, missing, bucketMin }: IndexState): Entry[] {
  const random = numbers(seed);
  const next = (): number => random.next().value;
  const byKey = written
    .toSorted((a, b) => (a.suffix < b.suffix ? -1 : 1))
    .slice(0, Math.floor(written.length * indexed));
  const segments: SegmentRecord[] = [];
  for (let from = 0; from < byKey.length;) {
    const size = bucketMin + Math.floor(next() * (BUCKET_ENTRIES + 1 - bucketMin));
    const own = byKey.slice(from, from + size);
    const before = byKey[from - 1]?.suffix ?? '';
    from += size;
    const bucket = bucketOf(own);
    const newest = segments.at(-1);
    const grown = newest && next() < 0.9 ? withBucket(newest, bucket) : undefined;
    if (grown) segments[segments.length - 1] = grown;
    else segments.push(segmentOf(before, bucket));
  }
  const newest = segments.at(-1);
  if (!newest) return [];
  const [first, revision] = [1, written.at(-1)?.entry.revision ?? 0];
  return [
    entryOf(KEYS.auditIndex(ACCOUNT), 1, { first, last: segments.length, through: lastOf(newest), revision }),
    ...segments.flatMap((segment, at) =>
      next() < missing ? [] : [entryOf(KEYS.auditSegment(ACCOUNT, at + 1), 1, segment)],
    ),
  ];
}

function bucketOf(own: readonly Written[]): Bucket {
  const revisions = own.map(({ entry }) => entry.revision);
  return {
    last: own.at(-1)?.suffix ?? '',
    low: Math.min(...revisions),
    high: Math.max(...revisions),
    terms: new Set(own.flatMap(({ record }) => termsOf(ACCOUNT, record))),
  };
}

/** Reads all pages. */
async function allPages(store: CountedStore, asked: Asked): Promise<readonly string[]> {
  const found: string[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    store.read();
    const { items, next } = await askAudit(store, ACCOUNT, { ...asked, cursor });
    expect(store.read(), 'records of a page').toBeLessThanOrEqual(PAGE_RECORDS_MAX);
    expect(items.length).toBeLessThanOrEqual(asked.limit);
    found.push(...items.map(({ requestId }) => requestId));
    if (next !== undefined) {
      expect(next).toMatch(/^[0-9a-z]{9}-[0-9a-f]{1,64}$/);
      expect(seen.has(next), `${next} comes once`).toBe(false);
      seen.add(next);
    }
    cursor = next;
  } while (cursor !== undefined);
  return found;
}

const some = <T>(of: readonly T[]) => fc.option(fc.constantFrom(...of), { nil: undefined, freq: 2 });
const FILTERS: fc.Arbitrary<AuditFilter> = fc.record({
  actor: some([...ACTORS, 'nobody']),
  action: some([...ACTIONS, 'app.', 'app.code.', 'rare.', 'none.']),
  appId: some(['app20', 'app21', 'app39', 'nothing']),
  target: some(['app:app22', 'user:u1', `account:${ACCOUNT}`]),
});

describe('what is asked of an audit', () => {
  test('is among the terms of each entry that it lets through', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 31 - 1 }), FILTERS, (seed, filter) => {
        for (const { record } of audit(seed, 30)) {
          if (!isAskedFor(ACCOUNT, record, filter)) continue;
          const terms = termsOf(ACCOUNT, record);
          expect(termsAskedFor(filter).filter((term) => !terms.includes(term))).toEqual([]);
        }
      }),
      { numRuns: runs(300) },
    );
  });

  test('comes as from a plain look through all of it, whatever the index has', { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
          count: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 400, max: 6000 })),
          cut: fc.constantFrom(0, 0, 0.1, 0.5, 1),
        }),
        fc.record({
          seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
          indexed: fc.constantFrom(0, 0.3, 0.9, 1),
          missing: fc.constantFrom(0, 0, 0.1, 1),
          bucketMin: fc.constantFrom(30, BUCKET_ENTRIES),
        }),
        FILTERS,
        fc.record({
          order: fc.constantFrom<Asked['order']>('asc', 'desc'),
          limit: fc.constantFrom(3, 50, 200, 1000),
          from: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined, freq: 3 }),
          to: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined, freq: 3 }),
        }),
        async ({ seed, count, cut }, state, filter, { order, limit, from, to }) => {
          const written = audit(seed, count);
          const index = segmentsOver(written, state);
          // The retention removes from the beginning, and leaves the segments to the next pass.
          const kept = written.toSorted(inStoreOrder).slice(Math.floor(count * cut));
          const store = storeOf([...kept.map(({ entry }) => entry), ...index]);
          const end = Math.max(BEGIN, ...written.map(({ record }) => record.at));
          const instant = (part: number | undefined): number | undefined =>
            part === undefined ? undefined : Math.floor(BEGIN + part * (end + 1 - BEGIN));
          const asked: Asked = { ...filter, order, limit, from: instant(from), to: instant(to) };
          const plain = kept
            .filter(({ record }) => record.at >= (asked.from ?? 0) && record.at < (asked.to ?? Number.MAX_SAFE_INTEGER))
            .filter(({ record }) => isAskedFor(ACCOUNT, record, filter))
            .map(({ record }) => record.requestId);
          expect(await allPages(store, asked)).toEqual(order === 'asc' ? plain : plain.toReversed());
        },
      ),
      { numRuns: runs(60) },
    );
  });
});
