import { expect, test } from 'vitest';
import { cutIndex, indexMore } from '../../../../src/domain/audit/index/build.ts';
import { createIndexing, DUE_ENTRIES } from '../../../../src/domain/audit/index/indexing.ts';
import { cutOldPages } from '../../../../src/domain/audit/index/old-pages.ts';
import { PAGE_ENTRIES } from '../../../../src/domain/audit/index/page.ts';
import { cutStep } from '../../../../src/domain/audit/retention.ts';
import { askAudit, type Asked } from '../../../../src/domain/audit/reading/ask.ts';
import type { AuditIndexRecord } from '../../../../src/domain/records/audit-records.ts';
import { BadRecord, parseRecord } from '../../../../src/domain/records/codec.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { createLog } from '../../../../src/log.ts';
import { expectRevision } from '../../../../src/store/entry.ts';
import type { Expectation, Store } from '../../../../src/store/port.ts';
import { ACCOUNT, sealNow, tamper, writeEntries, writeEntry } from '../../../support/records/audit.ts';
import { entriesOf } from '../../../support/service/accounts.ts';
import { onEachStore } from '../../../support/store/stores.ts';
import { wrappedStore } from '../../../support/store/wrapped-store.ts';
import { DAY_MS } from '../../../../src/time/utc-days.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const RARE = { action: 'rare.deed' };
const going = new AbortController().signal;

const indexOf = async (store: Store): Promise<AuditIndexRecord | undefined> => {
  const entry = await store.get(KEYS.auditIndex(ACCOUNT));
  return entry && parseRecord(KEYS.auditIndex, entry).record;
};
const pagesIn = async (store: Store): Promise<number> =>
  (await entriesOf(store, KEYS.auditIndexPage.under(ACCOUNT))).length;

/** Which entries are found. */
async function asked(store: Pick<Store, 'get' | 'list'>, filter: Partial<Asked> = {}): Promise<readonly string[]> {
  const found: string[] = [];
  let after: string | undefined;
  do {
    const page = await askAudit(store, ACCOUNT, { order: 'desc', limit: 100, ...filter, after });
    found.push(...page.items.map(({ requestId }) => requestId));
    after = page.next;
  } while (after !== undefined);
  return found;
}

/** Writes and seals so many entries, a second apart; each fiftieth is of a rare action. @returns those, newest first */
async function written(store: Store, clock: FakeClock, count: number): Promise<readonly string[]> {
  const rare: string[] = [];
  for (let from = 0; from < count; from += 50) {
    const ats = Array.from({ length: 50 }, (_, at) => clock.now() + at * 1000);
    const [first = 0, ...others] = ats;
    const requestId = `rare${first}`;
    await writeEntry(store, first, ACCOUNT, { ...RARE, requestId });
    await writeEntries(store, others);
    clock.advance(50_000);
    rare.unshift(requestId);
  }
  await sealNow(store, clock);
  return rare;
}

/** Describes all there is. @returns how many entries were described */
async function indexed(store: Store, fence: readonly Expectation[] = []): Promise<number> {
  for (let all = 0; ;) {
    const { entries, outcome } = await indexMore({ store, fence }, ACCOUNT);
    all += entries;
    if (outcome === 'whole') return all;
  }
}

/** Removes the oldest blocks with their entries, as the retention does. */
async function cutBlocks(store: Store, blocks: number): Promise<void> {
  for (let gone = 0; gone < blocks;) {
    const { outcome, isHalfway, entries } = await cutStep(store, [], ACCOUNT, Number.MAX_SAFE_INTEGER);
    if (outcome !== 'more') return;
    if (!isHalfway && entries === 0) gone += 1;
  }
}

/** Counts the records that a store gives, and what it is asked for. */
function counted(store: Store) {
  const counts = { records: 0 };
  const get: Store['get'] = async (key) => {
    counts.records += 1;
    return await store.get(key);
  };
  const list: Store['list'] = async (request) => {
    const page = await store.list(request);
    counts.records += page.entries.length;
    return page;
  };
  return { counts, store: wrappedStore(store, { get, list }) };
}

onEachStore('the index of an audit', (stores) => {
  test('describes each sealed entry, so that what is rare costs few reads, in either order', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const rare = await written(store, clock, 3000);
    const plain = counted(store);
    expect(await asked(plain.store, RARE)).toEqual(rare);
    expect(await indexed(store)).toBe(3000);
    expect([await pagesIn(store), (await indexOf(store))?.last]).toEqual([2, 2]);
    const quick = counted(store);
    expect(await asked(quick.store, RARE)).toEqual(rare);
    expect(quick.counts.records).toBeLessThan(plain.counts.records / 10);
    expect(await asked(store, { ...RARE, order: 'asc' })).toEqual(rare.toReversed());
    expect(await asked(store, { ...RARE, action: 'rare.' })).toEqual(rare);
    expect(await asked(store, { action: 'rare.nothing' })).toEqual([]);
    const newer = await written(store, clock, 100);
    await writeEntry(store, clock.now(), ACCOUNT, { ...RARE, requestId: 'last' });
    const all = ['last', ...newer, ...rare];
    expect(await asked(store, RARE), 'some are in blocks alone, one in none').toEqual(all);
    await sealNow(store, clock);
    expect([await indexed(store), await indexed(store)]).toEqual([101, 0]);
    expect(await asked(store, RARE)).toEqual(all);
  });

  test('has an entry that came late, with an older instant, at its place in the chain', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const begin = clock.now();
    const rare = await written(store, clock, 1000);
    await indexed(store);
    // The clock of its replica is behind by minutes.
    await writeEntry(store, begin + 300_000, ACCOUNT, { ...RARE, requestId: 'late' });
    await sealNow(store, clock);
    const all = ['late', ...rare];
    expect(await asked(store, RARE)).toEqual(all);
    await indexed(store);
    expect(await asked(store, RARE)).toEqual(all);
    expect(await asked(store, { ...RARE, to: begin + 300_001, from: begin + 300_000 })).toHaveLength(2);
  });

  test('passes no page over for an entry whose clock was far ahead', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const ahead = clock.now() + 30 * DAY_MS;
    await writeEntry(store, ahead, ACCOUNT, { ...RARE, requestId: 'ahead' });
    await written(store, clock, 3 * PAGE_ENTRIES);
    await indexed(store);
    expect(await asked(store, { ...RARE, from: ahead })).toEqual(['ahead']);
    expect(await asked(store, { ...RARE, from: ahead, order: 'asc' })).toEqual(['ahead']);
  });

  test('a former leader writes nothing of it, and removes nothing', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const held = await store.hold(KEYS.leader(), '{}', 7000);
    if (held === 'taken') return expect.unreachable('nobody leads');
    const fence = [expectRevision(KEYS.leader(), held.revision)];
    await written(store, clock, 300);
    await held.release();
    expect(await indexMore({ store, fence }, ACCOUNT)).toEqual({ entries: 0, outcome: 'conflict' });
    expect(await indexOf(store)).toBeUndefined();
    expect(await indexed(store)).toBe(300);
    await cutBlocks(store, 100);
    expect([await cutIndex({ store, fence }, ACCOUNT), await pagesIn(store)]).toEqual([0, 1]);
    expect([await cutIndex({ store, fence: [] }, ACCOUNT), await pagesIn(store)]).toEqual([1, 0]);
  });

  test('two leaders at once describe each entry once', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const rare = await written(store, clock, 3000);
    const [one, other] = await Promise.all([indexed(store), indexed(store)]);
    expect(one + other).toBe(3000);
    expect(await asked(store, RARE)).toEqual(rare);
  });

  test('answers as before wherever a leader is stopped', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const rare = await written(store, clock, 3000);
    for (let outcome = 'more'; outcome === 'more';) {
      ({ outcome } = await indexMore({ store, fence: [] }, ACCOUNT));
      expect(await asked(store, RARE)).toEqual(rare);
      expect(await asked(store, { ...RARE, order: 'asc' })).toEqual(rare.toReversed());
    }
    expect(await pagesIn(store)).toBe(2);
  });

  test('goes with the retention, page by page, and altogether with the last of them', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const rare = await written(store, clock, 2 * PAGE_ENTRIES + 900);
    await indexed(store);
    expect(await pagesIn(store)).toBe(3);
    const deps = { store, fence: [] };
    expect([await cutIndex(deps, ACCOUNT), await pagesIn(store)], 'all entries are there').toEqual([0, 3]);
    await cutBlocks(store, 16);
    expect([await cutIndex(deps, ACCOUNT), await pagesIn(store), (await indexOf(store))?.first]).toEqual([1, 2, 2]);
    const left = await asked(store, RARE);
    expect([left.length > 0, left]).toEqual([true, rare.slice(0, left.length)]);
    expect(await asked(store, { ...RARE, order: 'asc' })).toEqual(left.toReversed());
    await cutBlocks(store, 1000);
    expect(await cutOldPages(deps, undefined, going)).toEqual({ gone: 2, next: undefined });
    expect([await pagesIn(store), await indexOf(store)]).toEqual([0, undefined]);
    const newer = await written(store, clock, 100);
    expect([await indexed(store), await asked(store, RARE)]).toEqual([100, newer]);
  });

  test('goes on where the retention has removed just what is described', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await written(store, clock, 150);
    await indexed(store);
    const rare = await written(store, clock, 150);
    await cutBlocks(store, (await indexOf(store))?.block ?? 0);
    expect(await indexed(store)).toBe(150);
    expect(await asked(store, RARE)).toEqual(rare);
  });

  test('begins anew where blocks are gone that it lacks, and where it is of another chain', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await written(store, clock, 600);
    await indexMore({ store, fence: [] }, ACCOUNT);
    await cutBlocks(store, 1000);
    const rare = await written(store, clock, 600);
    expect(await asked(store, RARE)).toEqual(rare);
    expect(await indexed(store)).toBe(600);
    expect(await asked(store, RARE)).toEqual(rare);
    const head = (await indexOf(store)) ?? expect.unreachable('there is an index');
    for (const foreign of [{ block: head.block - 1 }, { block: head.block + 1 }]) {
      await tamper(store, KEYS.auditIndex(ACCOUNT), JSON.stringify({ ...head, ...foreign, digest: 'of another' }));
      expect(await indexed(store)).toBe(600);
      expect([await pagesIn(store), (await indexOf(store))?.digest]).toEqual([1, head.digest]);
      expect(await asked(store, RARE)).toEqual(rare);
    }
  });

  test('that is damaged is passed over, and a question reads the blocks themselves', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const rare = await written(store, clock, 3000);
    await indexed(store);
    const page = await store.get(KEYS.auditIndexPage(ACCOUNT, 1));
    const whole = parseRecord(KEYS.auditIndexPage, page ?? expect.unreachable('there is a page')).record;
    for (const damage of ['{', JSON.stringify({ ...whole, from: 'x' }), undefined]) {
      await tamper(store, KEYS.auditIndexPage(ACCOUNT, 1), damage);
      expect(await asked(store, RARE)).toEqual(rare);
      expect(await asked(store, { ...RARE, order: 'asc' })).toEqual(rare.toReversed());
    }
    // What it says of itself may be anything: it is no reason for an error.
    for (const terms of ['', 'AAAA', '/////////////w==']) {
      await tamper(store, KEYS.auditIndexPage(ACCOUNT, 1), JSON.stringify({ ...whole, terms }));
      expect((await asked(store, RARE)).length).toBeLessThanOrEqual(rare.length);
    }
    for (const damage of ['{', JSON.stringify({ ...(await indexOf(store)), first: 9, last: 2, digest: 'x' })]) {
      await tamper(store, KEYS.auditIndex(ACCOUNT), damage);
      expect(await asked(store, RARE)).toEqual(rare);
    }
    expect(await indexed(store)).toBe(3000);
    expect(await asked(store, RARE)).toEqual(rare);
  });

  test('goes on after an entry that cannot be read, of which each question that reaches it tells', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const [bad = ''] = await writeEntries(store, [clock.now()]);
    clock.advance(1000);
    const rare = await written(store, clock, 1000);
    await tamper(store, bad, 'no entry');
    expect(await indexed(store)).toBe(1001);
    const { items } = await askAudit(store, ACCOUNT, { ...RARE, order: 'desc', limit: rare.length - 1 });
    expect(items.map(({ requestId }) => requestId)).toEqual(rare.slice(0, -1));
    await expect(asked(store, RARE)).rejects.toThrow(BadRecord);
    await expect(asked(store, { ...RARE, from: clock.now() })).resolves.toEqual([]);
  });

  test('ends before a block that is missing, of which each question that reaches it tells', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const rare = await written(store, clock, 1000);
    await tamper(store, KEYS.seal(ACCOUNT, 3), undefined);
    await expect(indexed(store)).rejects.toThrow('is broken at block 3');
    expect((await indexOf(store))?.block).toBe(2);
    await expect(asked(store, RARE)).rejects.toThrow('is broken at block 3');
    const { items } = await askAudit(store, ACCOUNT, { ...RARE, order: 'desc', limit: 3 });
    expect(items.map(({ requestId }) => requestId)).toEqual(rare.slice(0, 3));
  });
});

onEachStore('the indexing of all audits', (stores) => {
  const log = createLog('silent');

  test('waits until enough is sealed, and then describes all of it', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const indexing = createIndexing({ store, log, fence: [] });
    await indexing.round(going);
    await written(store, clock, 50);
    indexing.sealed(ACCOUNT, DUE_ENTRIES - 1);
    await indexing.round(going);
    expect(await indexOf(store)).toBeUndefined();
    indexing.sealed(ACCOUNT, 1);
    await indexing.round(going);
    expect((await indexOf(store))?.block).toBe(1);
    await written(store, clock, 50);
    await indexing.round(going);
    expect((await indexOf(store))?.block).toBe(1);
  });

  test('asks the store no more in a round where another leads', async () => {
    await using opened = await stores.open();
    const clock = new FakeClock();
    await written(opened, clock, 600);
    const { counts, store } = counted(opened);
    const indexing = createIndexing({ store, log, fence: [expectRevision(KEYS.leader(), 5)] });
    await indexing.round(going);
    indexing.sealed(ACCOUNT, 600);
    counts.records = 0;
    await indexing.round(going);
    expect([counts.records > 0, counts.records < 1000, await indexOf(opened)]).toEqual([true, true, undefined]);
  });

  test('makes up for what other leaders have left, some of it a round, and reads nothing more then', async () => {
    await using opened = await stores.open();
    const clock = new FakeClock();
    for (let block = 0; block < DUE_ENTRIES; block += 1) await written(opened, clock, 50);
    const rare = await written(opened, clock, 3000);
    const { counts, store } = counted(opened);
    const indexing = createIndexing({ store, log, fence: [] });
    await indexing.round(going);
    const half = (await indexOf(store))?.block ?? 0;
    await indexing.round(going);
    const whole = (await indexOf(store))?.block ?? 0;
    expect([half > 0, whole > half]).toEqual([true, true]);
    counts.records = 0;
    await indexing.round(going);
    expect(counts.records).toBe(0);
    expect((await asked(store, RARE)).slice(0, rare.length)).toEqual(rare);
    const next = createIndexing({ store, log, fence: [] });
    await next.round(going);
    expect((await indexOf(store))?.block).toBe(whole);
  });

  test('goes on with the others where one chain is broken, and after an outage', async () => {
    await using opened = await stores.open();
    const clock = new FakeClock();
    let isDown = false;
    const commit: Store['commit'] = async (change) => {
      if (isDown) throw new Error('the store is down');
      return await opened.commit(change);
    };
    const store = wrappedStore(opened, { commit });
    await written(store, clock, 100);
    const other = 'b'.repeat(16);
    await writeEntries(store, [clock.now()], other);
    await sealNow(store, clock, other);
    await tamper(store, KEYS.seal(other, 1), undefined);
    const logged: string[] = [];
    const heard = createLog('error', { write: (line: string) => void logged.push(line) });
    const indexing = createIndexing({ store, log: heard, fence: [] });
    indexing.sealed(other, DUE_ENTRIES);
    indexing.sealed(ACCOUNT, DUE_ENTRIES);
    isDown = true;
    await expect(indexing.round(going)).rejects.toThrow('the store is down');
    isDown = false;
    await indexing.round(going);
    expect((await indexOf(store))?.block).toBe(1);
    expect(logged.join('')).toContain('the audit is not indexed any further');
    const before = logged.length;
    await indexing.round(going);
    expect(logged.length).toBe(before);
  });
});
