import { expect, test } from 'vitest';
import { blockDigest } from '../../../src/domain/audit/chain.ts';
import { cutStep } from '../../../src/domain/audit/retention.ts';
import { verifyAudit } from '../../../src/domain/audit/verify.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { BadRecord, parseRecord } from '../../../src/domain/records/codec.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { StoreUnavailable, type Store } from '../../../src/store/port.ts';
import { ACCOUNT, OTHER_ACCOUNT, sealedBlocks, sealNow, tamper, writeEntry } from '../../support/records/audit.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { faultyStore, type CommitFate } from '../../support/store/faulty-store.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { rawPut } from '../../support/store/raw-key.ts';

/** Cuts until there is nothing more to cut. @returns how many entries went */
async function cutAll(store: Store, olderThan: number): Promise<number> {
  let gone = 0;
  for (;;) {
    const { outcome, entries } = await cutStep(store, [], ACCOUNT, olderThan);
    gone += entries;
    // A16: what the account is charged with goes with its entries, between any two steps.
    const { own } = await verifyAudit(store, ACCOUNT);
    if (own.noted !== undefined) expect(own.noted).toBe(own.bytes);
    if (outcome !== 'more') return gone;
  }
}

const NO_ENTRY = { key: KEYS.chain(''), revision: 1 };

const left = async (store: Store, prefix: string): Promise<string[]> =>
  (await entriesOf(store, prefix)).map(({ key }) => key);

onEachStore('the retention of the audit', (stores) => {
  test('whole blocks go from the beginning, and the chain stays true', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const keys = await sealedBlocks(store, clock, 4, 3);
    await writeEntry(store, clock.now() - 10_000_000, OTHER_ACCOUNT);
    await sealNow(store, clock, OTHER_ACCOUNT);
    const [, secondBlock = []] = keys;
    const newest = Number.parseInt(secondBlock[2]?.slice(KEYS.audit.under(ACCOUNT).length).split('-')[0] ?? '', 36);

    // The newest entry of the second block is exactly as old as the audit is kept: only the first block is older.
    expect(await cutAll(store, newest)).toBe(3);
    expect(await left(store, KEYS.audit.under(ACCOUNT))).toEqual(keys.slice(1).flat());
    expect(await cutAll(store, newest + 1)).toBe(3);
    expect(await left(store, KEYS.audit.under(ACCOUNT))).toEqual(keys.slice(2).flat());
    expect(await left(store, KEYS.seal.under(ACCOUNT))).toEqual([KEYS.seal(ACCOUNT, 3), KEYS.seal(ACCOUNT, 4)]);
    const { faults, blocks, firstBlock, entries } = await verifyAudit(store, ACCOUNT);
    expect({ faults, blocks, firstBlock, entries }).toEqual({ faults: [], blocks: 2, firstBlock: 3, entries: 6 });
    expect((await verifyAudit(store, OTHER_ACCOUNT)).entries, 'the neighbour').toBe(1);
  });

  test('what a leader of an earlier version removes is counted anew, since it leaves the count as it was', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await sealedBlocks(store, clock, 3, 4);
    const asBefore = wrappedStore(store, {
      async commit(change) {
        const { own } = parseRecord(KEYS.chain, (await store.get(KEYS.chain(ACCOUNT))) ?? expect.unreachable()).record;
        const write = change.write.map((one) =>
          'put' in one && one.put === KEYS.chain(ACCOUNT)
            ? rawPut(one.put, { ...parseRecord(KEYS.chain, { ...NO_ENTRY, value: one.value }).record, own })
            : one,
        );
        return await store.commit({ ...change, write });
      },
    });
    for (let step = 0; step < 3; step += 1) await cutStep(asBefore, [], ACCOUNT, clock.now() + 1);
    expect((await verifyAudit(store, ACCOUNT)).own.noted).toBeUndefined();
  });

  test('all of it may go but what is unsealed, and the next block goes on', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await sealedBlocks(store, clock, 2, 2);
    const fresh = await writeEntry(store, clock.now() - 1);
    expect(await cutAll(store, clock.now() + 1)).toBe(4);
    expect(await left(store, KEYS.audit.under(ACCOUNT))).toEqual([fresh]);
    expect(await verifyAudit(store, ACCOUNT)).toMatchObject({ unsealed: 1, blocks: 0, faults: [] });
    await sealNow(store, clock);
    expect(await verifyAudit(store, ACCOUNT)).toMatchObject({ unsealed: 0, blocks: 1, firstBlock: 3, faults: [] });
  });

  test('a cut chain still shows what is done to it', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const keys = await sealedBlocks(store, clock, 3, 2);
    const cutAt = clock.now() - 3000;
    expect(await cutAll(store, cutAt)).toBe(2);
    await tamper(store, keys[1]?.[0] ?? '', undefined);
    expect((await verifyAudit(store, ACCOUNT)).faults).toMatchObject([{ what: 'removed', block: 2 }]);
  });

  // The loss is simulated before the store: where it is slower, the one that leaves more behind is enough.
  const fates: readonly CommitFate[] = stores.name === 'sqlite' ? ['lost before commit'] : [];
  test.each<CommitFate>([...fates, 'answer lost after commit'])(
    'stopped at each of its commits (%s), it is true in between and goes on',
    async (fate) => {
      // Two blocks: their marks, the entries in three commits, and their ends.
      for (let stoppedAt = 0; stoppedAt < 7; stoppedAt += 1) {
        await using opened = await stores.open();
        const store = faultyStore(opened);
        const clock = new FakeClock();
        const base = clock.now();
        // One entry more than a commit removes.
        await sealedBlocks(opened, clock, 1, 101);
        await sealedBlocks(opened, clock, 1, 1);
        await writeEntry(opened, clock.now() + 1_000_000);
        await sealNow(opened, clock);
        store.fates.push(...Array.from({ length: stoppedAt }, () => 'passes' as const), fate);
        await expect(cutAll(store, base + 999_000), `stopped at commit ${stoppedAt}`).rejects.toThrow(StoreUnavailable);
        expect((await verifyAudit(opened, ACCOUNT)).faults).toEqual([]);
        // Another leader goes on, and the audit goes on, too.
        await writeEntry(opened, clock.now() + 1_000_000);
        await sealNow(opened, clock);
        await cutAll(opened, base + 999_000);
        expect(await verifyAudit(opened, ACCOUNT)).toMatchObject({ faults: [], entries: 2, firstBlock: 3, blocks: 2 });
        expect(await left(opened, KEYS.seal.under(ACCOUNT))).toHaveLength(2);
      }
    },
  );

  test('verified at every step while it is cut', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await sealedBlocks(store, clock, 2, 101);
    for (let outcome = 'more'; outcome === 'more';) {
      ({ outcome } = await cutStep(store, [], ACCOUNT, clock.now() + 1));
      expect((await verifyAudit(store, ACCOUNT)).faults).toEqual([]);
    }
    expect(await left(store, KEYS.audit.under(ACCOUNT))).toEqual([]);
  });

  test('cut while it is being verified: it is verified again, and true', async () => {
    await using opened = await stores.open();
    const store = faultyStore(opened);
    const clock = new FakeClock();
    await sealedBlocks(opened, clock, 3, 2);
    store.intercept('list', 'before', () => cutAll(opened, clock.now() - 3000));
    expect(await verifyAudit(store, ACCOUNT)).toMatchObject({ faults: [], entries: 4, firstBlock: 2 });
    // Between the entries and the blocks, so that removed ones were still seen.
    store.intercept('list', 'after', () => cutAll(opened, clock.now() - 1000));
    expect(await verifyAudit(store, ACCOUNT)).toMatchObject({ faults: [], entries: 2, firstBlock: 3 });
  });

  test('while a block is cut, another in its place is found', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await sealedBlocks(store, clock, 2, 1);
    expect(await cutStep(store, [], ACCOUNT, clock.now())).toMatchObject({ outcome: 'more', entries: 0 });
    const entry = await store.get(KEYS.seal(ACCOUNT, 1));
    const block = parseRecord(KEYS.seal, entry ?? expect.unreachable('it is there until its entries are gone')).record;
    const forged = { ...block, entries: [...block.entries, ['forged', 'x'] as [string, string]] };
    await tamper(store, KEYS.seal(ACCOUNT, 1), JSON.stringify({ ...forged, digest: blockDigest(forged) }));
    expect((await verifyAudit(store, ACCOUNT)).faults[0]).toMatchObject({ what: 'chain_broken', block: 1 });
    await expect(cutAll(store, clock.now()), 'nothing of it goes').rejects.toThrow(BadRecord);
  });

  test('an ex-leader cuts nothing', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await sealedBlocks(store, clock, 1, 1);
    const fence = [expectRevision(KEYS.leader(), 1)];
    expect(await cutStep(store, fence, ACCOUNT, clock.now() + 1)).toMatchObject({ outcome: 'conflict', entries: 0 });
    expect(await left(store, KEYS.audit.under(ACCOUNT))).toHaveLength(1);
  });

  test('a chain that somebody has changed is left alone', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const [keys = []] = await sealedBlocks(store, clock, 1, 2);
    const block = (await store.get(KEYS.seal(ACCOUNT, 1)))?.value ?? '';
    await tamper(store, KEYS.seal(ACCOUNT, 1), block.replace(/"at":\d+/, '"at":1'));
    await expect(cutAll(store, clock.now() + 1)).rejects.toThrow(BadRecord);
    expect(await left(store, KEYS.audit.under(ACCOUNT))).toEqual(keys);
    const chain = await store.get(KEYS.chain(ACCOUNT));
    expect(chain && parseRecord(KEYS.chain, chain).record.base.number).toBe(0);
  });
});
