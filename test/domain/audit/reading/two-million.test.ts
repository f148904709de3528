import { describe, expect, test } from 'vitest';
import { OpenPage, PAGE_ENTRIES } from '../../../../src/domain/audit/index/page.ts';
import { termsOf } from '../../../../src/domain/audit/index/terms.ts';
import { askAudit, type Asked } from '../../../../src/domain/audit/reading/ask.ts';
import { PAGE_RECORDS_MAX } from '../../../../src/domain/audit/reading/bounded-reads.ts';
import {
  placeAt,
  type AuditIndexPageRecord,
  type AuditRecord,
  type SealRecord,
} from '../../../../src/domain/records/audit-records.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import type { Entry } from '../../../../src/store/port.ts';
import { ACCOUNT } from '../../../support/records/audit.ts';
import { countedStore, entryOf, type CountedStore } from '../../../support/store/counted-lists.ts';

/* A page of an audit of two million entries reads 2,000 records at most, and few pages find what is rare. */

/** Two million, in whole pages of the index. */
const ENTRIES = 977 * PAGE_ENTRIES;
/** Every page has the same ones: two of each. */
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

const blockOf = (number: number, size: number): SealRecord => ({
  number,
  previous: `d${number - 1}`,
  at: BEGIN + number * size * EVERY_MS,
  entries: Array.from({ length: size }, (_, at) => [suffixAt((number - 1) * size + at), 'd']),
  digest: `d${number}`,
});

/** The page of the entries from one on. */
function pageFrom(first: number, size: number): AuditIndexPageRecord {
  const open = new OpenPage(first / size + 1, 0);
  for (let number = first / size + 1; number <= (first + PAGE_ENTRIES) / size; number += 1) {
    const terms = Array.from({ length: size }, (_, at) => termsOf(ACCOUNT, recordOf((number - 1) * size + at)));
    if (!open.add({ block: blockOf(number, size), terms })) return expect.unreachable('a page has room for its terms');
  }
  return open.record();
}

/** Two million entries in blocks of some size; the newest ones are in no page, and the last ones in no block. */
function audit(size: number): CountedStore {
  const usual = pageFrom(PAGE_ENTRIES, size);
  const count = ENTRIES / PAGE_ENTRIES;
  const pages = Array.from({ length: count }, (_, at) => {
    const first = at * PAGE_ENTRIES;
    const newest = BEGIN + (first + PAGE_ENTRIES - 1) * EVERY_MS;
    const isRare = [...RARE].some((index) => index >= first && index < first + PAGE_ENTRIES);
    const page = isRare ? pageFrom(first, size) : { ...usual, from: first / size + 1 };
    return { ...page, oldest: BEGIN + first * EVERY_MS, newest, newestYet: newest };
  });
  const sealed = ENTRIES + 128;
  const total = sealed + 10;
  const number = sealed / size;
  const block = ENTRIES / size;
  const base = { number: 0, digest: 'd0' };
  const chain = { number, digest: `d${number}`, at: blockOf(number, size).at, through: sealed, base, cutting: false };
  const heads = [
    entryOf(KEYS.chain(ACCOUNT), 1, chain),
    entryOf(KEYS.auditIndex(ACCOUNT), 1, { first: 1, last: count, block, digest: `d${block}` }),
  ];
  /** What lies under a prefix: how many there are, and each of them in the order of keys. */
  const kinds = new Map<string, { readonly length: number; readonly at: (index: number) => Entry }>([
    [KEYS.audit.under(ACCOUNT), { length: total, at: entryAt }],
    [
      KEYS.seal.under(ACCOUNT),
      { length: number, at: (index) => entryOf(KEYS.seal(ACCOUNT, index + 1), 1, blockOf(index + 1, size)) },
    ],
    [
      KEYS.auditIndexPage.under(ACCOUNT),
      { length: count, at: (index) => entryOf(KEYS.auditIndexPage(ACCOUNT, index + 1), 1, pages[index] ?? {}) },
    ],
  ]);
  const firstWhere = (prefix: string, holds: (key: string) => boolean): number => {
    const { length, at } = kinds.get(prefix) ?? expect.unreachable(prefix);
    let [low, high] = [0, length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(at(middle).key)) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  return countedStore(
    (key) => {
      const head = heads.find((entry) => entry.key === key);
      if (head) return head;
      const prefix = [...kinds.keys()].find((one) => key.startsWith(one));
      if (prefix === undefined) return undefined;
      const found = kinds.get(prefix)?.at(firstWhere(prefix, (one) => one >= key));
      return found?.key === key ? found : undefined;
    },
    (prefix, after, limit) => {
      const first = firstWhere(prefix, (key) => key > after);
      const { length, at } = kinds.get(prefix) ?? expect.unreachable(prefix);
      return Array.from({ length: Math.min(limit, length - first) }, (_, index) => at(first + index));
    },
  );
}

interface Looked {
  readonly found: readonly string[];
  readonly pages: number;
}

async function look(store: CountedStore, asked: Asked, pagesMax: number): Promise<Looked> {
  const found: string[] = [];
  let after: string | undefined;
  for (let pages = 1; ; pages += 1) {
    store.read();
    const { items, next } = await askAudit(store, ACCOUNT, { ...asked, after });
    expect(store.read()).toBeLessThanOrEqual(PAGE_RECORDS_MAX);
    found.push(...items.map(({ requestId }) => requestId));
    after = next;
    if (after === undefined || pages === pagesMax) return { found, pages };
  }
}

describe.each([1, 64])('an audit of two million entries in blocks of %s', (size) => {
  const store = audit(size);
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
    // A page of the index has the bound within it.
    const [first] = (await look(store, { ...asked, limit: 1 }, 2)).found;
    expect(first).toBe(order === 'asc' ? 'r1000000' : 'r1005759');
  });
});
