import { expect, test } from 'vitest';
import { emptyChain } from '../../../src/domain/audit/chain.ts';
import { readChain } from '../../../src/domain/audit/seal.ts';
import { cutOldAudit } from '../../../src/domain/audit/old-audit.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { FleetMemory } from '../../../src/domain/fleet/memory.ts';
import { createStoredBytes, type StoredBytes } from '../../../src/domain/quota/stored-bytes.ts';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import { keyScope } from '../../../src/domain/records/idempotency-records.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { StoredRecord } from '../../../src/domain/records/account-records.ts';
import { createLog } from '../../../src/log.ts';
import { expectUnchanged, type Store } from '../../../src/store/port.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { ACCOUNT, OTHER_ACCOUNT, sealedBlocks } from '../../support/records/audit.ts';
import { putAll } from '../../support/records/backups.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { rawPut } from '../../support/store/raw-key.ts';

const MIB = 1024 * 1024;
const HOUR = 3_600_000;
const NEVER = new AbortController().signal;

interface Memory {
  whole: boolean;
}

/** The loop's part for one term, over a memory that holds what the store does, as long as it is whole. */
function storedBytesOn(store: Store, clock: FakeClock, memory: Memory = { whole: true }): StoredBytes {
  const held = new Map<string, Awaited<ReturnType<typeof readStored>>>();
  const fleet = {
    memory: {
      get whole() {
        return memory.whole;
      },
      account: (id: string) => (memory.whole ? { id, record: {}, stored: () => held.get(id) } : undefined),
    },
  };
  const deps = { store, clock, log: createLog('silent'), accountQuotaMb: 1024, fleet };
  const bytes = createStoredBytes(deps, []);
  return {
    sealed: (accountId, chain) => bytes.sealed(accountId, chain),
    async round(signal) {
      for (const accountId of [ACCOUNT, OTHER_ACCOUNT]) held.set(accountId, await readStored(store, accountId));
      await bytes.round(signal);
    },
  };
}

async function readStored(store: Store, accountId: string) {
  const entry = await store.get(KEYS.stored(accountId));
  return entry && parseRecord(KEYS.stored, entry);
}
const storedIn = async (store: Store, accountId = ACCOUNT): Promise<StoredRecord | undefined> =>
  (await readStored(store, accountId))?.record;

const chainWith = (bytes: number) => ({ ...emptyChain(ACCOUNT), own: { bytes, number: 0, base: 0 } });

onEachStore('what an account stores', (stores) => {
  test('becomes less when its records are deleted, and the account comes under its quota', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await putAll(store, {
      [KEYS.stored(ACCOUNT)]: { at: clock.now(), audit: 1021.5 * MIB, records: 3 * MIB, marks: [] },
      [KEYS.chain(ACCOUNT)]: chainWith(1021.5 * MIB + 480_000),
    });
    await storedBytesOn(store, clock).round(NEVER);
    const { audit = 0, records = 0 } = (await storedIn(store)) ?? {};
    expect({ audit, records }).toEqual({ audit: 1021.5 * MIB + 480_000, records: 0 });
  });

  test('is written once memory knows the account', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await putAll(store, { [KEYS.chain(ACCOUNT)]: chainWith(2000 * MIB) });
    const memory = { whole: false };
    const bytes = storedBytesOn(store, clock, memory);
    await bytes.round(NEVER);
    expect(await storedIn(store)).toBeUndefined();
    memory.whole = true;
    await bytes.round(NEVER);
    expect((await storedIn(store))?.audit).toBe(2000 * MIB);
  });

  test('is written where it has changed by a thousandth of the quota, or has passed it', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const bytes = storedBytesOn(store, clock);
    const after = async (audit: number): Promise<number | undefined> => {
      bytes.sealed(ACCOUNT, chainWith(audit));
      await bytes.round(NEVER);
      return (await storedIn(store))?.audit;
    };
    expect(await after(MIB - 1)).toBeUndefined();
    expect(await after(1023.5 * MIB)).toBe(1023.5 * MIB);
    expect(await after(1023.5 * MIB + 1000)).toBe(1023.5 * MIB);
    expect(await after(1024 * MIB), 'it has passed the quota').toBe(1024 * MIB);
  });

  test('has the records of its keys and people, and not those of daemons and the service', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const large = { text: 'x'.repeat(MIB) };
    const own = [
      KEYS.app(ACCOUNT, 'one'),
      KEYS.idempotencyRecord(ACCOUNT, 'one'),
      KEYS.idempotencyRecord(`operator-${ACCOUNT}`, 'one'),
      KEYS.idempotencyRecord(`batch-${ACCOUNT}`, 'one'),
      KEYS.idempotencyRecord(keyScope(ACCOUNT, 'one'), 'one'),
      KEYS.link(ACCOUNT, 'one'),
      KEYS.otelRevision(ACCOUNT, 1),
    ];
    const others = [
      KEYS.lastSeen(ACCOUNT),
      KEYS.ack(ACCOUNT, 'one'),
      KEYS.opampAgent(ACCOUNT, 'one'),
      KEYS.review(ACCOUNT, 'one', 'e'),
      KEYS.app(OTHER_ACCOUNT, 'one'),
      KEYS.idempotencyRecord(keyScope(OTHER_ACCOUNT, 'one'), 'one'),
      KEYS.otelRevision(OTHER_ACCOUNT, 1),
    ];
    for (const key of [...own, ...others]) await putAll(store, { [key]: large });
    await putAll(store, { [KEYS.chain(ACCOUNT)]: chainWith(5 * MIB) });
    await storedBytesOn(store, clock).round(NEVER);
    const { records = 0 } = (await storedIn(store)) ?? {};
    // Each byte counts one and a half times.
    expect(records / MIB / 1.5).toBeCloseTo(own.length, 2);
  });

  test('is counted for others, too, where one audit is slow to list, and is cut all the time', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await sealedBlocks(store, clock, 90, 1);
    const chain = await readChain(store, ACCOUNT);
    const { own: _own, ...without } = chain.record;
    await store.commit({ expect: [expectUnchanged(chain)], write: [rawPut(chain.key, without)] });
    await putAll(store, { [KEYS.chain(OTHER_ACCOUNT)]: { ...without, number: 0, through: 0 } });
    let lists = 0;
    const slow = wrappedStore(store, {
      async list(request) {
        if (request.prefix === KEYS.audit.under(ACCOUNT)) {
          lists += 1;
          clock.advance(2500);
          // Each time a block goes meanwhile.
          await sweep();
        }
        return await store.list(request);
      },
    });
    const unused = { memory: new FleetMemory({ onUnreadable: () => undefined }), random: systemRandom() };
    const deps = { ...unused, store, clock, fence: [], log: createLog('silent'), auditRetentionDays: 400 };
    const sweep = () => cutOldAudit(deps, undefined, NEVER);
    clock.advance(500 * 24 * HOUR);
    await sweep();
    expect((await readChain(store, ACCOUNT)).record.cutting, 'a pass ends with a whole block').toBe(false);
    const bytes = storedBytesOn(slow, clock);
    for (let round = 0; round < 4; round += 1) await bytes.round(NEVER);
    expect((await readChain(store, OTHER_ACCOUNT)).record.own).toBeDefined();
    expect(lists).toBeLessThanOrEqual(4);
  });
});
