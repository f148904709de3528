import { describe, expect, test } from 'vitest';
import { BUCKET_ENTRIES, lastOf, segmentOf, withBucket } from '../../../../src/domain/audit/index/segment.ts';
import { termsOf } from '../../../../src/domain/audit/index/terms.ts';
import { askAudit, type Asked } from '../../../../src/domain/audit/reading/ask.ts';
import { PAGE_RECORDS_MAX } from '../../../../src/domain/audit/reading/bounded-reads.ts';
import { placeAt, type AuditRecord, type SegmentRecord } from '../../../../src/domain/records/audit-records.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import type { Entry } from '../../../../src/store/port.ts';
import { ACCOUNT } from '../../../support/records/audit.ts';
import { countedStore, entryOf, type CountedStore } from '../../../support/store/counted-lists.ts';

/* A page of an audit of two million entries reads 2,000 records at most, and few pages find what is rare. */

/** Two million, in whole segments. */
const ENTRIES = 977 * 2048;
const PER_SEGMENT = 32 * BUCKET_ENTRIES;
/** Every segment has the same ones: two of each. */
const APPS = 1024;
const DEEDS = 16;
/** An entry is made when it is read: one every 15 s, a year of them. */
const EVERY_MS = 15_000;
const BEGIN = Date.parse('2025-01-01T00:00:00Z');
/** Three entries in two million. */
const RARE = new Set([123_456, 1_200_000, 1_999_100]);

const recordOf = (index: number): AuditRecord => ({
  at: BEGIN + index * EVERY_MS,
  actor: RARE.has(index) ? 'user:rare' : `device:app${index % APPS}`,
  action: RARE.has(index) ? 'app.rare' : `app.deed${index % DEEDS}`,
  appId: `app${index % APPS}`,
  requestId: `r${index}`,
  detail: {},
});
const suffixAt = (index: number): string =>
  `${placeAt(BEGIN + index * EVERY_MS)}-${index.toString(16).padStart(32, '0')}`;
const entryAt = (index: number): Entry =>
  entryOf(KEYS.audit.under(ACCOUNT) + suffixAt(index), index + 1, recordOf(index));

/** The segment of the entries from one on. */
function segmentFrom(first: number): SegmentRecord {
  const before = first === 0 ? '' : suffixAt(first - 1);
  let segment: SegmentRecord | undefined;
  for (let from = first; from < first + PER_SEGMENT; from += BUCKET_ENTRIES) {
    const own = Array.from({ length: BUCKET_ENTRIES }, (_, at) => from + at);
    const terms = new Set(own.flatMap((index) => termsOf(ACCOUNT, recordOf(index))));
    const bucket = { last: suffixAt(from + BUCKET_ENTRIES - 1), low: from + 1, high: from + BUCKET_ENTRIES, terms };
    segment = segment ? withBucket(segment, bucket) : segmentOf(before, bucket);
    if (!segment) return expect.unreachable('a segment has room for its terms');
  }
  return segment ?? expect.unreachable('it has buckets');
}

/** Two million entries; the newest ones are in no segment. */
function audit(): CountedStore {
  const usual = segmentFrom(PER_SEGMENT);
  const count = ENTRIES / PER_SEGMENT;
  const segments = Array.from({ length: count }, (_, at) => {
    const first = at * PER_SEGMENT;
    if ([...RARE].some((index) => index >= first && index < first + PER_SEGMENT)) return segmentFrom(first);
    const buckets = usual.buckets.map((_bucket, bucket): SegmentRecord['buckets'][number] => {
      const end = first + (bucket + 1) * BUCKET_ENTRIES;
      return [suffixAt(end - 1), end - BUCKET_ENTRIES + 1, end];
    });
    return { ...usual, after: first === 0 ? '' : suffixAt(first - 1), buckets };
  });
  const total = ENTRIES + 3 * BUCKET_ENTRIES;
  const newest = segments.at(-1) ?? expect.unreachable('there are segments');
  const head = { first: 1, last: count, through: lastOf(newest), revision: ENTRIES };
  const stored = segments.map((segment, at) => entryOf(KEYS.auditSegment(ACCOUNT, at + 1), 1, segment));
  const prefix = KEYS.audit.under(ACCOUNT);
  return countedStore(
    (key) => {
      if (key === KEYS.auditIndex(ACCOUNT)) return entryOf(key, 1, head);
      if (key.startsWith(KEYS.auditSegment.under(ACCOUNT))) return stored.find((entry) => entry.key === key);
      const index = Number.parseInt(key.slice(-32), 16);
      return key === prefix + suffixAt(index) ? entryAt(index) : undefined;
    },
    (under, after, limit) => {
      if (under !== prefix) return stored.filter(({ key }) => key > after).slice(0, limit);
      let [low, high] = [0, total];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (prefix + suffixAt(middle) > after) high = middle;
        else low = middle + 1;
      }
      return Array.from({ length: Math.min(limit, total - low) }, (_, at) => entryAt(low + at));
    },
  );
}

interface Looked {
  readonly found: readonly string[];
  readonly pages: number;
}

async function look(store: CountedStore, asked: Asked, pagesMax: number): Promise<Looked> {
  const found: string[] = [];
  let cursor: string | undefined;
  for (let pages = 1; ; pages += 1) {
    store.read();
    const { items, next } = await askAudit(store, ACCOUNT, { ...asked, cursor });
    expect(store.read()).toBeLessThanOrEqual(PAGE_RECORDS_MAX);
    found.push(...items.map(({ requestId }) => requestId));
    cursor = next;
    if (cursor === undefined || pages === pagesMax) return { found, pages };
  }
}

describe('an audit of two million entries', () => {
  const store = audit();
  const ORDERS = ['desc', 'asc'] as const;
  const rare = [...RARE].toSorted((a, b) => a - b).map((index) => `r${index}`);
  const inOrder = (order: Asked['order'], ids: readonly string[]) => (order === 'asc' ? ids : ids.toReversed());

  test.each(ORDERS)('what is rare is found, and what is not there is not, in a few pages (%s)', async (order) => {
    for (const filter of [{ actor: 'user:rare' }, { action: 'app.rare' }]) {
      const { found, pages } = await look(store, { ...filter, order, limit: 50 }, 100);
      expect(found).toEqual(inOrder(order, rare));
      expect(pages).toBeLessThanOrEqual(3);
    }
    const nothing = await look(store, { actor: 'key:nobody', order, limit: 50 }, 100);
    expect([nothing.found, nothing.pages <= 3]).toEqual([[], true]);
  });

  test.each(ORDERS)('what is frequent fills each page (%s)', async (order) => {
    for (const filter of [{}, { action: 'app.' }, { action: 'app.deed7' }]) {
      const { found, pages } = await look(store, { ...filter, order, limit: 50 }, 4);
      expect([pages, found.length, new Set(found).size]).toEqual([4, 200, 200]);
    }
  });

  test.each(ORDERS)('an app of one entry in a thousand has a few entries on each page (%s)', async (order) => {
    const { found, pages } = await look(store, { appId: 'app17', order, limit: 50 }, 5);
    const all = Array.from({ length: Math.floor(ENTRIES / APPS) + 1 }, (_, at) => `r${at * APPS + 17}`);
    expect(found).toEqual(inOrder(order, all).slice(0, found.length));
    expect([pages, found.length >= 100]).toEqual([5, true]);
  });

  test.each(ORDERS)('a day in the middle is found at once (%s)', async (order) => {
    const from = BEGIN + 1_000_000 * EVERY_MS;
    const asked = { from, to: from + 5760 * EVERY_MS, order, limit: 200 };
    const { found } = await look(store, { ...asked, action: 'app.deed3' }, 100);
    const all = Array.from({ length: 5760 }, (_, at) => 1_000_000 + at).filter((index) => index % DEEDS === 3);
    expect(found).toEqual(
      inOrder(
        order,
        all.map((index) => `r${index}`),
      ),
    );
    expect((await look(store, { ...asked, actor: 'user:rare' }, 1)).found).toEqual([]);
    const [first] = (await look(store, { ...asked, limit: 1 }, 1)).found;
    expect(first).toBe(order === 'asc' ? 'r1000000' : 'r1005759');
  });
});
