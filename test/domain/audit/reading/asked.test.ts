import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { emptyChain, portions, sealed } from '../../../../src/domain/audit/chain.ts';
import { SPREAD_MS } from '../../../../src/domain/audit/following/store-order.ts';
import { lastBlockOf, OpenPage } from '../../../../src/domain/audit/index/page.ts';
import { isAskedFor, termsAskedFor, termsOf, type AuditFilter } from '../../../../src/domain/audit/index/terms.ts';
import { askAudit, type Asked } from '../../../../src/domain/audit/reading/ask.ts';
import { PAGE_RECORDS_MAX } from '../../../../src/domain/audit/reading/bounded-reads.ts';
import {
  suffixOf,
  type AuditIndexPageRecord,
  type AuditRecord,
  type ChainRecord,
  type SealRecord,
} from '../../../../src/domain/records/audit-records.ts';
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
  // Dense ones come within milliseconds of each other.
  const isDense = next() < 0.3;
  return Array.from({ length: count }, () => {
    const kind = next();
    // Some lie at one instant, some are hours apart, most within a second of each other.
    const gap =
      kind < 0.3
        ? 0
        : kind < 0.98 || isDense
          ? Math.floor(next() * (isDense ? 8 : 1500))
          : Math.floor(next() * 50 * HOUR_MS);
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

/** How far the leader and the retention have come. */
interface Progress {
  /** The part of the entries that is sealed, and the part of the blocks that is described. */
  readonly sealed: number;
  readonly described: number;
  /** The part of the sealed blocks that the retention has removed. */
  readonly cut: number;
}

/** An audit whose blocks and pages of the index are the same at any time. */
class Audit {
  readonly written: readonly Written[];
  readonly #blocks: SealRecord[] = [];
  readonly #chains: ChainRecord[] = [emptyChain(ACCOUNT)];
  readonly #missing: number;

  /** @param missing the part of the pages that cannot be read */
  constructor(seed: number, count: number, missing: number) {
    this.written = audit(seed, count).toSorted(inStoreOrder);
    this.#missing = missing;
    const random = numbers(seed);
    const all = this.written.map(({ entry, suffix }) => ({
      suffix,
      revision: entry.revision,
      digest: 'd',
      ownBytes: 0,
    }));
    for (const whole of portions(all)) {
      for (let from = 0; from < whole.length;) {
        // Small accounts have blocks of an entry or two; a revision is in one block.
        let to = from + (random.next().value < 0.5 ? 1 : Math.ceil(random.next().value * whole.length));
        while (to < whole.length && whole[to]?.revision === whole[to - 1]?.revision) to += 1;
        const { block, chain } = sealed(this.#chains.at(-1) ?? emptyChain(ACCOUNT), whole.slice(from, to), BEGIN);
        // Blocks are sealed after their entries.
        const at = Math.max(...block.entries.map(([name]) => Number.parseInt(name.slice(0, 9), 36))) + SPREAD_MS;
        this.#blocks.push(block);
        this.#chains.push({ ...chain, at });
        from = to;
      }
    }
  }

  blocksAt(part: number): number {
    return Math.floor(this.#blocks.length * part);
  }

  /** The store at some time, and what it has of the audit, in the order of the store. */
  at({ sealed: part, described, cut }: Progress): {
    readonly store: CountedStore;
    readonly there: readonly Written[];
    readonly isSealed: boolean;
  } {
    const number = this.blocksAt(part);
    const base = Math.round(number * cut);
    const of = this.#chains[number] ?? emptyChain(ACCOUNT);
    const { digest } = this.#chains[base] ?? emptyChain(ACCOUNT);
    const chain: ChainRecord = { ...of, base: { number: base, digest } };
    const gone = new Set(this.#blocks.slice(0, base).flatMap(({ entries }) => entries.map(([name]) => name)));
    const there = this.written.filter(({ suffix }) => !gone.has(suffix));
    const blocks = this.#blocks.slice(base, number);
    const store = storeOf([
      ...there.map(({ entry }) => entry),
      ...blocks.map((block) => entryOf(KEYS.seal(ACCOUNT, block.number), 1, block)),
      ...(number === 0 ? [] : [entryOf(KEYS.chain(ACCOUNT), 1, chain)]),
      ...this.#index(Math.floor(number * described), base),
    ]);
    return { store, there, isSealed: number === this.#blocks.length };
  }

  #index(count: number, base: number): readonly Entry[] {
    const records = new Map(this.written.map(({ suffix, record }) => [suffix, record]));
    const pages: AuditIndexPageRecord[] = [];
    let open: OpenPage | undefined;
    for (const block of this.#blocks.slice(0, count)) {
      const terms = block.entries.map(([name]) => {
        const record = records.get(name);
        return record ? termsOf(ACCOUNT, record) : [];
      });
      // A page that goes on is read from the store first.
      if (open && block.number % 7 === 0) open = OpenPage.of(open.record());
      if (open?.add({ block, terms })) continue;
      if (open) pages.push(open.record());
      open = new OpenPage(block.number, pages.at(-1)?.newestYet ?? 0);
      open.add({ block, terms });
    }
    if (!open) return [];
    pages.push(open.record());
    const first = pages.findIndex((page) => lastBlockOf(page) > base) + 1;
    if (first === 0) return [];
    const random = numbers(count);
    const head = { first, last: pages.length, block: count, digest: 'd' };
    const kept = pages.flatMap((page, at) =>
      at + 1 < first || random.next().value < this.#missing
        ? []
        : [entryOf(KEYS.auditIndexPage(ACCOUNT, at + 1), 1, page)],
    );
    return [entryOf(KEYS.auditIndex(ACCOUNT), 1, head), ...kept];
  }
}

/** Reads all pages, each of them at its own time. */
async function allPages(store: (page: number) => CountedStore, asked: Asked): Promise<readonly string[]> {
  const found: string[] = [];
  const seen = new Set<string>();
  let after: string | undefined;
  for (let page = 0; ; page += 1) {
    const now = store(page);
    now.read();
    const { items, next } = await askAudit(now, ACCOUNT, { ...asked, after });
    expect(now.read(), 'records of a page').toBeLessThanOrEqual(PAGE_RECORDS_MAX);
    expect(items.length).toBeLessThanOrEqual(asked.limit);
    found.push(...items.map(({ requestId }) => requestId));
    if (next === undefined) return found;
    expect(next).toMatch(/^[A-Za-z0-9-]{1,200}$/);
    expect(seen.has(next), `${next} comes once`).toBe(false);
    seen.add(next);
    after = next;
  }
}

const some = <T>(of: readonly T[]) => fc.option(fc.constantFrom(...of), { nil: undefined, freq: 2 });
const FILTERS: fc.Arbitrary<AuditFilter> = fc.record({
  actor: some([...ACTORS, 'nobody']),
  action: some([...ACTIONS, 'app.', 'app.code.', 'rare.', 'none.']),
  appId: some(['app20', 'app21', 'app39', 'nothing']),
  target: some(['app:app22', 'user:u1', `account:${ACCOUNT}`]),
});
const AUDITS = fc.record({
  seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  count: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 400, max: 6000 })),
  missing: fc.constantFrom(0, 0, 0.1, 1),
});
const PROGRESS: fc.Arbitrary<Progress> = fc.record({
  sealed: fc.constantFrom(0, 0.5, 0.95, 0.999, 1),
  described: fc.constantFrom(0, 0.3, 0.9, 1),
  cut: fc.constantFrom(0, 0, 0.1, 0.5, 1),
});
const QUESTIONS = fc.record({
  order: fc.constantFrom<Asked['order']>('asc', 'desc'),
  limit: fc.constantFrom(3, 50, 200, 1000),
  from: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined, freq: 3 }),
  to: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined, freq: 3 }),
});

/** What is asked for, with instants of this audit, and what of it a plain look finds. */
function asking(written: readonly Written[], filter: AuditFilter, question: Asked) {
  const end = Math.max(BEGIN, ...written.map(({ record }) => record.at));
  const instant = (part: number | undefined): number | undefined =>
    part === undefined ? undefined : Math.floor(BEGIN + part * (end + 1 - BEGIN));
  const asked: Asked = { ...filter, ...question, from: instant(question.from), to: instant(question.to) };
  const plainly = (there: readonly Written[]): readonly string[] =>
    there
      .filter(({ record }) => record.at >= (asked.from ?? 0) && record.at < (asked.to ?? Number.MAX_SAFE_INTEGER))
      .filter(({ record }) => isAskedFor(ACCOUNT, record, filter))
      .map(({ record }) => record.requestId);
  return { asked, plainly };
}

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
        AUDITS,
        PROGRESS,
        FILTERS,
        QUESTIONS,
        async ({ seed, count, missing }, progress, filter, question) => {
          const audited = new Audit(seed, count, missing);
          const { store, there, isSealed } = audited.at(progress);
          const { asked, plainly } = asking(audited.written, filter, question);
          const found = await allPages(() => store, asked);
          const plain = plainly(there);
          const inOrder = asked.order === 'asc' ? plain : plain.toReversed();
          // Many that are in no block come by their instants.
          if (isSealed) expect(found).toEqual(inOrder);
          else expect(found.toSorted()).toEqual(inOrder.toSorted());
        },
      ),
      { numRuns: runs(60) },
    );
  });

  test('costs no more by a cursor that somebody has made up', async () => {
    const { store } = new Audit(3, 6000, 0).at({ sealed: 0.5, described: 0.5, cut: 0 });
    for (const after of [
      'U0R0N0-0Ezzzzzzzzz',
      'U0R0Nzzzzzzzzz-0',
      'U9R999999N0-0',
      'B999999A9999',
      'B0A0',
      'nothing',
    ]) {
      for (const order of ['asc', 'desc'] as const) {
        store.read();
        const { items } = await askAudit(store, ACCOUNT, { order, limit: 10, actor: 'nobody', after });
        expect([after, items, store.read() <= PAGE_RECORDS_MAX]).toEqual([after, [], true]);
      }
    }
  });

  test('is whole and comes once, while all goes on between two pages', { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        AUDITS,
        fc.array(PROGRESS, { minLength: 2, maxLength: 4 }),
        FILTERS,
        QUESTIONS,
        async ({ seed, count, missing }, times, filter, question) => {
          const audited = new Audit(seed, count, missing);
          const inOrder = times.toSorted((a, b) => a.sealed - b.sealed || a.cut - b.cut);
          let cut = 0;
          // Blocks that are gone stay gone.
          const stages = inOrder.map((time) => {
            const number = audited.blocksAt(time.sealed);
            cut = Math.max(cut, Math.floor(number * time.cut));
            return audited.at({ ...time, cut: number === 0 ? 0 : Math.min(1, cut / number) });
          });
          const stores = stages.map(({ store }) => store);
          const { asked, plainly } = asking(audited.written, filter, question);
          const at = (page: number): CountedStore => stores[Math.min(page, stores.length - 1)] ?? expect.unreachable();
          const found = await allPages(at, asked);
          expect(new Set(found).size).toBe(found.length);
          expect(plainly(audited.written)).toEqual(expect.arrayContaining([...found]));
          expect(found).toEqual(expect.arrayContaining([...plainly(stages.at(-1)?.there ?? [])]));
        },
      ),
      { numRuns: runs(60) },
    );
  });
});
