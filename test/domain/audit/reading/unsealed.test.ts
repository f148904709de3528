import { expect, test } from 'vitest';
import { emptyChain, sealed } from '../../../../src/domain/audit/chain.ts';
import { askAudit } from '../../../../src/domain/audit/reading/ask.ts';
import { PAGE_RECORDS_MAX } from '../../../../src/domain/audit/reading/bounded-reads.ts';
import { suffixOf, type ChainRecord, type SealRecord } from '../../../../src/domain/records/audit-records.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import type { Entry } from '../../../../src/store/port.ts';
import { ACCOUNT } from '../../../support/records/audit.ts';
import { entryOf, storeOf, type CountedStore } from '../../../support/store/counted-lists.ts';

/* Entries that are in no block yet, page after page: few and many, late ones, and clocks that differ. */

const T = 1_700_000_000_000;

let markers = 0;
const entry = (at: number, revision: number, id: string): Entry => {
  markers += 1;
  return entryOf(KEYS.audit(ACCOUNT, at, markers.toString(16).padStart(32, '0')), revision, {
    at,
    actor: 'operator',
    action: 'x',
    requestId: id,
    detail: {},
  });
};
const sealAll = (
  chain: ChainRecord,
  entries: readonly Entry[],
  at: number,
): { block: SealRecord; chain: ChainRecord } =>
  sealed(
    chain,
    entries.map((e) => ({ suffix: suffixOf(ACCOUNT, e.key), revision: e.revision, digest: 'd', ownBytes: 0 })),
    at,
  );
const storeWith = (entries: readonly Entry[], blocks: readonly SealRecord[], chain: ChainRecord): CountedStore =>
  storeOf([
    ...entries,
    ...blocks.map((b) => entryOf(KEYS.seal(ACCOUNT, b.number), 1, b)),
    ...(chain.number === 0 ? [] : [entryOf(KEYS.chain(ACCOUNT), 1, chain)]),
  ]);
const rest = async (store: CountedStore, after: string | undefined, order: 'asc' | 'desc' = 'desc', limit = 100) => {
  const ids: string[] = [];
  while (after !== undefined) {
    const page = await askAudit(store, ACCOUNT, { order, limit, after });
    ids.push(...page.items.map(({ requestId }) => requestId));
    after = page.next;
  }
  return ids;
};

test.each(['desc', 'asc'] as const)(
  'all come where the clock of the last sealed one is ahead, and they are sealed between two pages (%s)',
  async (order) => {
    const ahead = entry(T + 60_000, 1, 'ahead');
    const one = sealAll(emptyChain(ACCOUNT), [ahead], T);
    const fresh = Array.from({ length: 10 }, (_, i) => entry(T + 1000 + i, 10 + i, `f${i}`));
    const first = await askAudit(storeWith([ahead, ...fresh], [one.block], one.chain), ACCOUNT, { order, limit: 3 });
    const two = sealAll(one.chain, fresh, T + 65_000);
    const store = storeWith([ahead, ...fresh], [one.block, two.block], two.chain);
    const ids = [...first.items.map((r) => r.requestId), ...(await rest(store, first.next, order))];
    const all = ['ahead', ...fresh.map((_, i) => `f${i}`)];
    expect(ids).toEqual(order === 'asc' ? all : all.toReversed());
  },
);

test('one whose clock is ahead comes, though many are written before it between two pages', async () => {
  const early = entry(T + 9_000, 1, 'early'); // its clock is 9 s ahead
  const few = [early, entry(T, 2, 'f1'), entry(T + 1, 3, 'f2')];
  const chain = emptyChain(ACCOUNT);
  const first = await askAudit(storeWith(few, [], chain), ACCOUNT, { order: 'desc', limit: 2 });
  expect(first.items.map((r) => r.requestId)).toEqual(['f2', 'f1']);
  // 1,000 entries/s for 5 s
  const later = Array.from({ length: 5000 }, (_, i) => entry(T + 10 + i, 10 + i, `l${i}`));
  const two = sealAll(chain, few, T + 2000);
  const store = storeWith([...few, ...later], [two.block], two.chain);
  expect(await rest(store, first.next)).toEqual(['early']);
});

test('all of a millisecond come that has more than a list holds', async () => {
  for (const before of [0, 100, 250, 400, 550, 700]) {
    const many = [
      ...Array.from({ length: 1000 }, (_, i) => entry(T + i * 1000, 1 + i, `o${i}`)),
      ...Array.from({ length: 300 }, (_, i) => entry(T + 2_000_000, 2000 + i, `d${i}`)),
      ...Array.from({ length: before }, (_, i) => entry(T + 2_001_000 + i * 1000, 3000 + i, `n${i}`)),
    ];
    const store = storeWith(many, [], emptyChain(ACCOUNT));
    const ids: string[] = [];
    let after: string | undefined;
    do {
      const page = await askAudit(store, ACCOUNT, { order: 'desc', limit: 1000, after });
      ids.push(...page.items.map((r) => r.requestId));
      after = page.next;
    } while (after !== undefined);
    expect([before, new Set(ids).size, ids.length]).toEqual([before, many.length, many.length]);
  }
});

test('a page reads no more than its bound, wherever they are dense and sparse', async () => {
  const most: Record<string, number> = {};
  const shapes: Record<string, number[]> = {
    burstAmongSparse: [
      ...Array.from({ length: 600 }, (_, i) => T + i * 10_000),
      ...Array.from({ length: 6000 }, (_, i) => T + 6_000_000 + i * 10),
      ...Array.from({ length: 200 }, (_, i) => T + 6_070_000 + i * 60_000),
    ],
    octaves: Array.from({ length: 24 }, (_, k) =>
      Array.from({ length: 90 }, (_, i) => T + 20_000_000 - Math.floor(2 ** k * (1 + i / 90))),
    ).flat(),
    burstAtEnd: [
      ...Array.from({ length: 700 }, (_, i) => T + i * 60_000),
      ...Array.from({ length: 6000 }, (_, i) => T + 42_000_000 + i),
    ],
    // Entries ten minutes apart, bursts, and one a minute for five hours: the chain is not continued for days.
    brokenForDays: ((): number[] => {
      let at = T;
      return (
        [
          [300, 600_000],
          [100, 10_000],
          [300, 100],
          [1000, 1],
          [20, 1000],
          [300, 60_000],
        ] as const
      ).flatMap(([count, gap]) => Array.from({ length: count }, () => (at += gap)));
    })(),
    hourly: [
      ...Array.from({ length: 3000 }, (_, i) => T + Math.floor(i / 30) * 3_600_000 + (i % 30)),
      ...Array.from({ length: 6000 }, (_, i) => T + 3_600_000 * 100 + i),
      ...Array.from({ length: 300 }, (_, i) => T + 3_600_000 * (101 + i)),
    ],
  };
  for (const [name, ats] of Object.entries(shapes)) {
    const entries = ats.toSorted((a, b) => a - b).map((at, i) => entry(at, 1 + i, `${i}`));
    const store = storeWith(entries, [], emptyChain(ACCOUNT));
    let after: string | undefined;
    let pages = 0;
    for (const asked of [{}, { limit: 20 }, { actor: 'nobody' }]) {
      const got: string[] = [];
      do {
        store.read();
        const page = await askAudit(store, ACCOUNT, { order: 'desc', limit: 200, after, ...asked });
        got.push(...page.items.map((r) => r.requestId));
        most[name] = Math.max(most[name] ?? 0, store.read());
        after = page.next;
        pages += 1;
      } while (after !== undefined && pages < 2000);
      if (!('actor' in asked)) expect(new Set(got).size).toBe(entries.length);
    }
  }
  for (const records of Object.values(most)) expect(records).toBeLessThanOrEqual(PAGE_RECORDS_MAX);
});

test('none comes twice, oldest first, where the second list has the last of many', async () => {
  const all = Array.from({ length: 200 }, (_, i) =>
    // The commit of the first one ended last, 200 ms after it was sent.
    entry(T + i, i === 0 ? 1000 : 1 + i, `${i}`),
  );
  const store = storeWith(all, [], emptyChain(ACCOUNT));
  const first = await askAudit(store, ACCOUNT, { order: 'asc', limit: 170, action: 'x' });
  const ids = [...first.items.map(({ requestId }) => requestId), ...(await rest(store, first.next, 'asc'))];
  expect([ids.length, new Set(ids).size]).toEqual([200, 200]);
});

test.each(['asc', 'desc'] as const)('all come in a store that was restored between two pages (%s)', async (order) => {
  const ats = Array.from({ length: 10 }, (_, i) => ({ at: T + i, id: `r${i}` }));
  const base = { number: 1, digest: 'd' };
  const head = { ...emptyChain(ACCOUNT), number: 1, at: T, base };
  const [before, restored] = [ats, ats].map((all, turn) =>
    // Revisions are of one store alone: those of the restored one are low.
    all.map(({ at, id }, i) => {
      const record = { at, actor: 'operator', action: 'x', requestId: id, detail: {} };
      return entryOf(KEYS.audit(ACCOUNT, at, `${i}`.padStart(32, '0')), (turn === 0 ? 6000 : 60) + i, record);
    }),
  );
  const first = await askAudit(storeWith(before ?? [], [], { ...head, through: 5000 }), ACCOUNT, {
    order,
    limit: 4,
    action: 'x',
  });
  const second = await rest(storeWith(restored ?? [], [], { ...head, through: 50 }), first.next, order);
  expect(first.items.length + second.length).toBe(10);
});
