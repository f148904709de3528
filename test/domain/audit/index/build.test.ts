import { expect, test } from 'vitest';
import { CLOSED_AFTER_MS, indexMore, reopenFrom } from '../../../../src/domain/audit/index/build.ts';
import { cutOldSegments } from '../../../../src/domain/audit/index/old-segments.ts';
import { BUCKET_ENTRIES } from '../../../../src/domain/audit/index/segment.ts';
import { cutStep } from '../../../../src/domain/audit/retention.ts';
import { askAudit, type Asked } from '../../../../src/domain/audit/reading/ask.ts';
import { placeAt, type AuditIndexRecord } from '../../../../src/domain/records/audit-records.ts';
import { parseRecord } from '../../../../src/domain/records/codec.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { expectRevision } from '../../../../src/store/entry.ts';
import type { Expectation, Store } from '../../../../src/store/port.ts';
import { ACCOUNT, sealAll, sealer, sealNow, writeEntries, writeEntry } from '../../../support/records/audit.ts';
import { entriesOf } from '../../../support/service/accounts.ts';
import { onEachStore } from '../../../support/store/stores.ts';
import { wrappedStore } from '../../../support/store/wrapped-store.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const indexOf = async (store: Store): Promise<AuditIndexRecord | undefined> => {
  const entry = await store.get(KEYS.auditIndex(ACCOUNT));
  return entry && parseRecord(KEYS.auditIndex, entry).record;
};
const segmentsIn = async (store: Store): Promise<number> =>
  (await entriesOf(store, KEYS.auditSegment.under(ACCOUNT))).length;

/** All entries with an action, in the order that is asked for. */
async function asked(store: Store, filter: Partial<Asked> = {}): Promise<readonly string[]> {
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await askAudit(store, ACCOUNT, { order: 'desc', limit: 100, ...filter, cursor });
    found.push(...page.items.map(({ requestId }) => requestId));
    cursor = page.next;
  } while (cursor !== undefined);
  return found;
}

/** So many entries, a second apart, the last one now; each fiftieth is of a rare action. */
async function written(store: Store, clock: FakeClock, count: number): Promise<void> {
  const begin = clock.now();
  const ats = Array.from({ length: count }, (_, at) => begin + at * 1000);
  for (let from = 0; from < count; from += 50) {
    const [rare = begin, ...others] = ats.slice(from, from + 50);
    await writeEntry(store, rare, ACCOUNT, { action: 'rare.deed' });
    await writeEntries(store, others);
  }
  clock.advance(count * 1000);
}

const indexed = async (store: Store, clock: FakeClock, fence: readonly Expectation[] = []): Promise<number> => {
  let all = 0;
  for (;;) {
    const { entries } = await indexMore({ store, clock, fence }, ACCOUNT);
    if (entries === 0) return all;
    all += entries;
  }
};

onEachStore('the index of an audit', (stores) => {
  test('describes what is sealed and old enough, in whole buckets, and what it says is what is there', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await written(store, clock, 1000);
    expect([await indexed(store, clock), await indexOf(store)], 'nothing is sealed').toEqual([0, undefined]);
    await sealNow(store, clock);
    const before = await asked(store, { action: 'rare.deed' });
    expect(before).toHaveLength(20);
    // The last sixty are not old enough: a commit that is under way may come to lie between them.
    const closed = Math.floor((1000 - CLOSED_AFTER_MS / 1000) / BUCKET_ENTRIES) * BUCKET_ENTRIES;
    expect(await indexed(store, clock)).toBe(closed);
    expect(await asked(store, { action: 'rare.deed' })).toEqual(before);
    clock.advance(CLOSED_AFTER_MS);
    expect(await indexed(store, clock)).toBe(Math.floor(1000 / BUCKET_ENTRIES) * BUCKET_ENTRIES - closed);
    expect(await asked(store, { action: 'rare.deed' })).toEqual(before);
    expect(await asked(store, { action: 'rare.deed', order: 'asc' })).toEqual(before.toReversed());
  });

  test('an entry is closed a minute after its instant, and not a moment before', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await writeEntries(
      store,
      Array.from({ length: BUCKET_ENTRIES }, () => clock.now()),
    );
    await sealNow(store, clock);
    clock.advance(CLOSED_AFTER_MS - 1);
    expect(await indexed(store, clock)).toBe(0);
    clock.advance(1);
    expect(await indexed(store, clock)).toBe(BUCKET_ENTRIES);
  });

  test('a former leader writes nothing of it, and takes nothing back', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const held = await store.hold(KEYS.leader(), '{}', 7000);
    if (held === 'taken') expect.unreachable('nobody leads');
    const fence = [expectRevision(KEYS.leader(), held.revision)];
    await written(store, clock, 300);
    await sealNow(store, clock);
    await held.release();
    expect([await indexed(store, clock, fence), await indexOf(store)]).toEqual([0, undefined]);
    expect(await indexed(store, clock)).toBeGreaterThan(0);
    const head = await indexOf(store);
    expect(await reopenFrom({ store, clock, fence }, ACCOUNT, placeAt(0))).toBe(false);
    expect(await indexOf(store)).toEqual(head);
    expect(await reopenFrom({ store, clock, fence: [] }, ACCOUNT, placeAt(0))).toBe(true);
    expect(await indexOf(store)).toBeUndefined();
  });

  test('a leader that is stopped between two commits leaves what the next one goes on with', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await written(store, clock, 3000);
    await sealNow(store, clock);
    clock.advance(CLOSED_AFTER_MS);
    const before = await asked(store, { action: 'rare.deed' });
    for (const order of ['desc', 'asc'] as const) {
      expect(await asked(store, { action: 'rare.deed', order })).toEqual(
        order === 'desc' ? before : before.toReversed(),
      );
      const { entries } = await indexMore({ store, clock, fence: [] }, ACCOUNT);
      expect(entries).toBeGreaterThan(0);
    }
    await indexed(store, clock);
    expect([await segmentsIn(store), (await indexOf(store))?.last]).toEqual([2, 2]);
    expect(await asked(store, { action: 'rare.deed' })).toEqual(before);
  });

  test('an entry that comes late, under a key of a closed stretch, is found once it is sealed', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const begin = clock.now();
    await written(store, clock, 1000);
    clock.advance(CLOSED_AFTER_MS);
    await using leader = sealer(store, clock);
    await sealAll(store, leader);
    for (let round = 0; round < 3; round += 1) await leader.round();
    const head = await indexOf(store);
    // The clock of its replica is behind by minutes.
    await writeEntry(store, begin + 300_000, ACCOUNT, { action: 'late.deed' });
    await sealAll(store, leader);
    expect(await asked(store, { action: 'late.deed' })).toHaveLength(1);
    expect((await indexOf(store))?.through).not.toBe(head?.through);
    for (let round = 0; round < 3; round += 1) await leader.round();
    expect(await asked(store, { action: 'late.deed' })).toHaveLength(1);
    expect(await asked(store, { action: 'rare.deed' })).toHaveLength(20);
  });

  test('one that a leader of an earlier version has sealed there is found by the next term', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const begin = clock.now();
    await written(store, clock, 1000);
    await sealNow(store, clock);
    clock.advance(CLOSED_AFTER_MS);
    expect(await indexed(store, clock)).toBeGreaterThan(900);
    await writeEntry(store, begin + 300_000, ACCOUNT, { action: 'late.deed' });
    await sealNow(store, clock);
    await using leader = sealer(store, clock);
    await leader.round();
    expect(await asked(store, { action: 'late.deed' })).toHaveLength(1);
    for (let round = 0; round < 3; round += 1) await leader.round();
    expect(await asked(store, { action: 'late.deed' })).toHaveLength(1);
    expect((await indexOf(store))?.through).toMatch(/^[0-9a-z]{9}-/);
  });

  test('a leader builds what is missing a bounded stretch a round, and asks no more where nothing is left', async () => {
    await using opened = await stores.open();
    const clock = new FakeClock();
    let lists = 0;
    const store = wrappedStore(opened, {
      list: (request) => {
        if (request.prefix === KEYS.audit.under(ACCOUNT) && request.keysOnly !== true) lists += 1;
        return opened.list(request);
      },
    });
    await written(store, clock, 12_000);
    await sealNow(store, clock);
    clock.advance(CLOSED_AFTER_MS);
    await using leader = sealer(store, clock);
    lists = 0;
    await leader.round();
    expect(lists).toBe(10);
    await leader.round();
    const rest = lists;
    expect((await indexOf(store))?.through).toMatch(/^[0-9a-z]{9}-/);
    for (let round = 0; round < 3; round += 1) await leader.round();
    expect(lists).toBe(rest);
    expect(await asked(store, { action: 'rare.deed' })).toHaveLength(240);
  });

  test('segments go with the retention, and the whole index with the last of them', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await written(store, clock, 5000);
    await sealNow(store, clock);
    clock.advance(CLOSED_AFTER_MS);
    await indexed(store, clock);
    expect(await segmentsIn(store)).toBe(3);
    const all = await asked(store, { action: 'rare.deed' });
    const sweep = async (fence: readonly Expectation[] = []) =>
      (await cutOldSegments({ store, fence }, undefined, new AbortController().signal)).gone;
    expect([await sweep(), await segmentsIn(store)], 'all entries are there').toEqual([0, 3]);
    await cutBlocks(store, 15);
    const former = [expectRevision(KEYS.leader(), 1)];
    expect([await sweep(former), await segmentsIn(store)], 'another leads').toEqual([0, 3]);
    expect([await sweep(), await segmentsIn(store), (await indexOf(store))?.first]).toEqual([1, 2, 2]);
    expect(await asked(store, { action: 'rare.deed' })).toEqual(all.slice(0, 40));
    expect(await asked(store, { action: 'rare.deed', order: 'asc' })).toEqual(all.slice(0, 40).toReversed());
    await cutBlocks(store, 100);
    expect([await sweep(), await segmentsIn(store), await indexOf(store)]).toEqual([2, 0, undefined]);
    expect(await asked(store)).toEqual([]);
  });

  test('the index of another store, which a restore by an earlier version brings, is none', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await written(store, clock, 1000);
    await sealNow(store, clock);
    clock.advance(CLOSED_AFTER_MS);
    await indexed(store, clock);
    const key = KEYS.format();
    await store.commit({
      expect: [expectRevision(key, 0)],
      write: [{ put: key, value: '{"format":1,"storeId":"b"}' }],
    });
    expect(await asked(store, { action: 'rare.deed' })).toHaveLength(20);
    expect(await indexed(store, clock)).toBeGreaterThan(900);
    expect((await indexOf(store))?.storeId).toBe('b');
    expect(await asked(store, { action: 'rare.deed' })).toHaveLength(20);
  });
});

/** Removes the oldest blocks with their entries, as the retention does. */
async function cutBlocks(store: Store, blocks: number): Promise<void> {
  for (let gone = 0; gone < blocks;) {
    const { outcome, isHalfway, entries } = await cutStep(store, [], ACCOUNT, Number.MAX_SAFE_INTEGER);
    if (outcome !== 'more') return;
    if (!isHalfway && entries === 0) gone += 1;
  }
}
