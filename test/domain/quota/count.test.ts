import { expect, test } from 'vitest';
import { ownBytesIn } from '../../../src/domain/audit/own-bytes.ts';
import { readChain } from '../../../src/domain/audit/seal.ts';
import { verifyAudit } from '../../../src/domain/audit/verify.ts';
import { countAudit } from '../../../src/domain/quota/count.ts';
import { expectUnchanged, type Store } from '../../../src/store/port.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { ACCOUNT, sealedBlocks, sealNow, writeEntries } from '../../support/records/audit.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { rawPut } from '../../support/store/raw-key.ts';

const NEVER = new AbortController().signal;

/** Takes the count away, as a store of an earlier version has none. */
async function forget(store: Store): Promise<void> {
  const chain = await readChain(store, ACCOUNT);
  const { own: _own, ...without } = chain.record;
  await store.commit({ expect: [expectUnchanged(chain)], write: [rawPut(chain.key, without)] });
}

onEachStore('the count of an audit', (stores) => {
  test('is what sealing would have added up, and is made once', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await sealedBlocks(store, clock, 3, 4);
    const known = ownBytesIn((await readChain(store, ACCOUNT)).record);
    expect(known).toBeGreaterThan(0);
    await forget(store);
    expect(ownBytesIn((await readChain(store, ACCOUNT)).record)).toBeUndefined();
    expect(await countAudit(store, [], ACCOUNT, NEVER)).toBe(known);
    expect((await verifyAudit(store, ACCOUNT)).own).toEqual({ bytes: known, noted: known });
    const { revision } = await readChain(store, ACCOUNT);
    expect(await countAudit(store, [], ACCOUNT, NEVER)).toBe(known);
    expect((await readChain(store, ACCOUNT)).revision, 'nothing is written again').toBe(revision);
  });

  test('has what is sealed while it is made', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await sealedBlocks(store, clock, 2, 4);
    await forget(store);
    let meanwhile = 3;
    // Before each commit of the count, and after the entries were listed, another block is sealed.
    const busy = wrappedStore(store, {
      async commit(change) {
        if (meanwhile > 0) {
          meanwhile -= 1;
          await writeEntries(store, [clock.now(), clock.now()]);
          await sealNow(store, clock);
        }
        return await store.commit(change);
      },
    });
    const counted = await countAudit(busy, [], ACCOUNT, NEVER);
    expect(meanwhile).toBe(0);
    expect((await verifyAudit(store, ACCOUNT)).own).toEqual({ bytes: counted, noted: counted });
  });
});
