import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { runLoop } from '../../src/controller/loop.ts';
import { sealAccount } from '../../src/domain/audit/seal.ts';
import { verifyAudit } from '../../src/domain/audit/verify.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import { parseRecord } from '../../src/domain/records/codec.ts';
import { createLog } from '../../src/log.ts';
import { expectRevision } from '../../src/store/entry.ts';
import { StoreUnavailable, type Store } from '../../src/store/port.ts';
import { ACCOUNT, OTHER_ACCOUNT, sealAll, sealer, tamper, writeEntry } from '../support/records/audit.ts';
import { entriesOf } from '../support/service/accounts.ts';
import { faultyStore } from '../support/store/faulty-store.ts';
import { onEachStore, onEachStoreAlone } from '../support/store/stores.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { until } from '../support/time/until.ts';

/** Every entry that a block of the account has, in the order of the chain. */
async function sealedEntries(store: Store, accountId = ACCOUNT): Promise<string[]> {
  const blocks = await entriesOf(store, KEYS.seal.under(accountId));
  return blocks.flatMap((entry) => parseRecord(KEYS.seal, entry).record.entries.map(([suffix]) => suffix));
}
const suffix = (key: string): string => key.split('/')[2] ?? '';

onEachStore('sealing the audit', (stores) => {
  test('entries lie in the order of their commits, and each account has a chain of its own', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await using leader = sealer(store, clock);
    await leader.round();
    const keys: string[] = [];
    // The commit of each later one comes with an older instant.
    for (let n = 0; n < 5; n += 1) keys.push(await writeEntry(store, clock.now() - n * 1000));
    const theirs = await writeEntry(store, clock.now(), OTHER_ACCOUNT);
    await sealAll(store, leader);
    await sealAll(store, leader, OTHER_ACCOUNT);
    expect(await sealedEntries(store)).toEqual(keys.map(suffix));
    expect(await sealedEntries(store, OTHER_ACCOUNT)).toEqual([suffix(theirs)]);
    expect([leader.sealed, (await verifyAudit(store, ACCOUNT)).faults]).toEqual([6, []]);
  });

  test('a commit that comes late, with an older instant than what is sealed, is sealed', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await using leader = sealer(store, clock);
    const first = await writeEntry(store, clock.now());
    await sealAll(store, leader);
    const late = await writeEntry(store, clock.now() - 30_000);
    await sealAll(store, leader);
    expect(await sealedEntries(store)).toEqual([first, late].map(suffix));
    expect((await verifyAudit(store, ACCOUNT)).faults).toEqual([]);
  });

  test('nothing is sealed beyond the revision up to which all entries are known', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const known = await writeEntry(store, clock.now());
    const upTo = (await store.get(known))?.revision ?? 0;
    // Their keys sort before and after the known one's: the watch has delivered neither of the two.
    const later = [await writeEntry(store, clock.now() - 1000), await writeEntry(store, clock.now() + 1000)];
    const due = { accountId: ACCOUNT, from: suffix(known), upTo };
    await sealAccount({ store, clock, fence: [] }, due);
    expect(await sealedEntries(store)).toEqual([suffix(known)]);
    await using leader = sealer(store, clock);
    await sealAll(store, leader);
    expect(await sealedEntries(store)).toEqual([known, ...later].map(suffix));
  });

  test('a block has two hundred entries at most', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await using leader = sealer(store, clock);
    await Promise.all(Array.from({ length: 450 }, (_, n) => writeEntry(store, clock.now() + n)));
    await sealAll(store, leader);
    const blocks = await entriesOf(store, KEYS.seal.under(ACCOUNT));
    expect(blocks.map((entry) => parseRecord(KEYS.seal, entry).record.entries.length)).toEqual([200, 200, 50]);
  });

  test('the next leader continues where the former one stopped, without a gap or a duplicate', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const keys: string[] = [];
    for (let term = 0; term < 4; term += 1) {
      await using leader = sealer(store, clock);
      keys.push(await writeEntry(store, clock.now() + term));
      await sealAll(store, leader);
      // Not seen by this leader any more.
      keys.push(await writeEntry(store, clock.now() - term));
    }
    await using last = sealer(store, clock);
    await sealAll(store, last);
    expect((await sealedEntries(store)).toSorted()).toEqual(keys.map(suffix).toSorted());
    expect((await verifyAudit(store, ACCOUNT)).faults).toEqual([]);
  });

  test('a former leader seals nothing, and the current one does', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const held = await store.hold(KEYS.leader(), '{}', 7000);
    if (held === 'taken') expect.unreachable('nobody leads');
    const fence = [expectRevision(KEYS.leader(), held.revision)];
    await using leader = sealer(store, clock, fence);
    await writeEntry(store, clock.now());
    await sealAll(store, leader);
    await writeEntry(store, clock.now());
    await held.release();
    await leader.round();
    expect(await verifyAudit(store, ACCOUNT)).toMatchObject({ entries: 1, unsealed: 1 });
    const next = await store.hold(KEYS.leader(), '{}', 7000);
    if (next === 'taken') expect.unreachable('it was released');
    await leader.round();
    expect(await verifyAudit(store, ACCOUNT), 'another leads').toMatchObject({ entries: 1, unsealed: 1 });
    await using other = sealer(store, clock, [expectRevision(KEYS.leader(), next.revision)]);
    await sealAll(store, other);
    expect(await verifyAudit(store, ACCOUNT)).toMatchObject({ entries: 2, unsealed: 0, faults: [] });
  });

  test('two leaders that seal at once, beside writers: each entry is sealed once, and no writer waits', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await using one = sealer(store, clock);
    await using other = sealer(store, clock);
    const keys: string[] = [];
    const write = async (): Promise<void> => {
      // `writeEntry` throws where its commit meets a conflict.
      for (let n = 0; n < 40; n += 1) keys.push(await writeEntry(store, clock.now() + n));
    };
    const written = new AbortController();
    const seal = async (leader: typeof one): Promise<void> => {
      while (!written.signal.aborted) {
        await leader.round();
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const sealing = Promise.all([seal(one), seal(other)]);
    await Promise.all([write(), write(), write()]);
    written.abort();
    await sealing;
    await sealAll(store, one);
    expect((await sealedEntries(store)).toSorted()).toEqual(keys.map(suffix).toSorted());
    expect((await verifyAudit(store, ACCOUNT)).faults).toEqual([]);
  });

  test.each(['lost before commit', 'answer lost after commit', 'conflict'] as const)(
    'a seal that is met by trouble (%s) is made up for, once',
    async (fate) => {
      await using opened = await stores.open();
      const store = faultyStore(opened);
      const clock = new FakeClock();
      await using leader = sealer(store, clock);
      const keys = [await writeEntry(opened, clock.now()), await writeEntry(opened, clock.now())];
      store.fates.push(fate);
      if (fate === 'conflict') await leader.round();
      else await expect(leader.round()).rejects.toThrow(StoreUnavailable);
      await sealAll(store, leader);
      expect(await sealedEntries(opened)).toEqual(keys.map(suffix));
    },
  );

  test('a chain that was changed is not continued and logged once; the chain of another account goes on', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await using leader = sealer(store, clock);
    await writeEntry(store, clock.now());
    await sealAll(store, leader);
    await tamper(store, KEYS.chain(ACCOUNT), undefined);
    await writeEntry(store, clock.now());
    await writeEntry(store, clock.now(), OTHER_ACCOUNT);
    await sealAll(store, leader, OTHER_ACCOUNT);
    await until(async () => {
      await leader.round();
      return leader.logged.some((line) => line.includes('not what was written'));
    });
    for (let n = 0; n < 3; n += 1) await leader.round();
    expect(leader.logged.filter((line) => line.includes('not what was written'))).toHaveLength(1);
    expect((await verifyAudit(store, ACCOUNT)).faultCount).toBeGreaterThan(0);
    expect((await verifyAudit(store, OTHER_ACCOUNT)).faults).toEqual([]);
  });

  test('the head of a chain is logged once an hour', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await using leader = sealer(store, clock);
    for (let n = 0; n < 6; n += 1) {
      await writeEntry(store, clock.now());
      await sealAll(store, leader);
      clock.advance(1_200_000);
    }
    const heads = leader.logged.map((line) => JSON.parse(line) as { msg: string; block: number; digest: string });
    expect(heads.map(({ msg, block }) => [msg, block])).toEqual([
      ['audit sealed', 1],
      ['audit sealed', 4],
    ]);
    const fourth = await store.get(KEYS.seal(ACCOUNT, 4));
    expect(fourth?.value).toContain(heads[1]?.digest ?? 'nothing');
  });
});

onEachStoreAlone('sealing the audit while its watch breaks off', (stores) => {
  test.each([
    ['and nothing was compacted', false],
    ['and what it missed is compacted', true],
  ])('%s: what came meanwhile is sealed', async (_what, compacted) => {
    await using opened = await stores.open();
    const store = faultyStore(opened);
    const clock = new FakeClock();
    await using leader = sealer(store, clock);
    const keys = [await writeEntry(opened, clock.now())];
    await sealAll(store, leader);
    store.sever();
    keys.push(await writeEntry(opened, clock.now() - 1000));
    const { revision } = await opened.list({ prefix: 'none', limit: 1 });
    if (compacted) await opened.compact(revision);
    // The first round may only learn that the history is gone.
    await leader.round().catch(() => undefined);
    await sealAll(store, leader);
    expect(await sealedEntries(opened)).toEqual(keys.map(suffix));
    expect((await verifyAudit(opened, ACCOUNT)).faults).toEqual([]);
  });

  test('a term that ends while the watch is about to be opened leaves none behind', async () => {
    await using opened = await stores.open();
    const store = faultyStore(opened);
    const leader = sealer(store, new FakeClock());
    store.intercept('list', 'after', async () => leader[Symbol.asyncDispose]());
    await expect(leader.round()).rejects.toThrow('watch of the audit is closed');
    expect([store.calls.list, store.watching]).toEqual([1, 0]);
  });

  test('after a long outage new entries are sealed within ten seconds', async () => {
    await using opened = await stores.open();
    const store = faultyStore(opened);
    const clock = new FakeClock();
    await using leader = sealer(store, clock);
    const stopping = new AbortController();
    let failed = 0;
    const loopEnded = (_name: string, outcome: string): void => void (failed += Number(outcome === 'failed'));
    const loop = runLoop({ clock, log: createLog('silent'), metrics: { loopEnded } }, leader.loop, stopping.signal);
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 5000) {
        await until(() => clock.sleeping === 1);
        clock.advance(5000);
        await nextTurn();
      }
      await until(() => clock.sleeping === 1);
    };
    await pass(5000);
    store.outage(true);
    await writeEntry(opened, clock.now());
    // Rounds fail once the watch has brought the entry, which takes real time.
    await until(async () => {
      await pass(5000);
      return failed > 0;
    });
    // With a back-off of up to a minute the next round would come 40 s after this.
    await pass(270_000);
    store.outage(false);
    await pass(10_000);
    stopping.abort();
    await loop;
    expect(await verifyAudit(opened, ACCOUNT)).toMatchObject({ entries: 1, unsealed: 0 });
  });

  test('a watch that is silent without an error is opened anew within the hour', async () => {
    await using opened = await stores.open();
    const store = faultyStore(opened);
    const clock = new FakeClock();
    await using leader = sealer(store, clock);
    await leader.round();
    store.deaf = true;
    await writeEntry(opened, clock.now());
    await until(() => store.missed > 0);
    await leader.round();
    expect((await verifyAudit(opened, ACCOUNT)).unsealed).toBe(1);
    // Another watch hears; this one never does again.
    store.deaf = false;
    await leader.round();
    expect((await verifyAudit(opened, ACCOUNT)).unsealed).toBe(1);
    clock.advance(3_600_000);
    await sealAll(store, leader);
    expect((await verifyAudit(opened, ACCOUNT)).entries).toBe(1);
  });
});
