import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLastUses, CALLS_HELD_MS, KEY_USES_EVERY_MS } from '../../../src/domain/last-uses/last-uses.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { createLog } from '../../../src/log.ts';
import { expectAsFound, type Store } from '../../../src/store/port.ts';
import { DAY_MS } from '../../../src/time/utc-days.ts';
import { runs } from '../../support/run/effort.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { rawPut } from '../../support/store/raw-key.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* The calls of API keys by day, which replicas count in memory and write with the last uses. */

const OWNER = 'a';
const NOON = Date.parse('2026-03-01T12:00:00Z');

function replica(store: Store, clock: FakeClock, living: readonly string[] = ['k1', 'k2']) {
  const uses = createLastUses('API keys', { store, clock, log: createLog('silent'), idsOf: () => living });
  return {
    ...uses,
    call: (keyId: string, times = 1): void => {
      for (let i = 0; i < times; i += 1) uses.used(OWNER, keyId);
    },
    told: async (keyId = 'k1') => (await uses.usesAndCalls(OWNER)).get(keyId)?.calls,
  };
}
const stranger = (store: Store, clock: FakeClock) => replica(store, clock).told();

onEachStore('the calls of keys', (stores) => {
  test('are the sum over the replicas, whoever writes when and first', async () => {
    const step = fc.oneof(
      fc.record({ by: fc.nat({ max: 1 }), key: fc.constantFrom('k1', 'k2') }),
      fc.record({ flush: fc.nat({ max: 1 }), conflicts: fc.boolean() }),
      fc.record({ passes: fc.integer({ min: 1, max: 3 * KEY_USES_EVERY_MS }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        await using store = faultyStore(await stores.open());
        store.isAside = () => false;
        const clock = new FakeClock(NOON);
        const replicas = [replica(store, clock), replica(store, clock)] as const;
        const expected = new Map<string, number>();
        for (const one of steps) {
          if ('passes' in one) clock.advance(one.passes);
          else if ('key' in one) {
            replicas[one.by as 0 | 1].call(one.key);
            expected.set(one.key, 1 + (expected.get(one.key) ?? 0));
          } else {
            if (one.conflicts) store.fates.push('conflict');
            await replicas[one.flush as 0 | 1].flush();
            store.fates.length = 0;
          }
        }
        for (const each of replicas) await each.finish();
        const told = await replica(store, clock).usesAndCalls(OWNER);
        expect(new Map([...told].map(([id, { calls }]) => [id, calls]))).toEqual(expected);
      }),
      { numRuns: runs(20) },
    );
  });

  test('of two replicas that write at once are both kept', async () => {
    await using store = await stores.open();
    const clock = new FakeClock(NOON);
    const replicas = [replica(store, clock), replica(store, clock)];
    for (const [index, each] of replicas.entries()) each.call('k1', index + 2);
    await Promise.all(replicas.map((each) => each.finish()));
    expect(await stranger(store, clock)).toBe(5);
  });

  test('are told at once where they were made, and cost no write where others write the last use, but in 10 minutes', async () => {
    await using store = faultyStore(await stores.open());
    store.isAside = () => false;
    const clock = new FakeClock(NOON);
    const [one, other] = [replica(store, clock), replica(store, clock)];
    one.call('k1', 3);
    expect([await one.told(), await other.told()]).toEqual([3, undefined]);
    other.call('k1');
    clock.advance(1);
    one.call('k1');
    await one.flush();
    const written = store.calls.commit;
    for (let passed = 0; passed < CALLS_HELD_MS - KEY_USES_EVERY_MS; passed += KEY_USES_EVERY_MS) {
      await other.flush();
      clock.advance(KEY_USES_EVERY_MS);
    }
    expect([store.calls.commit, await stranger(store, clock), await other.told()]).toEqual([written, 4, 5]);
    clock.advance(KEY_USES_EVERY_MS);
    await other.flush();
    expect([store.calls.commit, await stranger(store, clock), await other.told()]).toEqual([written + 1, 5, 5]);
    await other.flush();
    expect(store.calls.commit).toBe(written + 1);
  });

  test('are those of today and the six days before: a day goes at midnight, UTC', async () => {
    await using store = await stores.open();
    const clock = new FakeClock(NOON);
    const uses = replica(store, clock);
    for (let day = 0; day < 7; day += 1) {
      uses.call('k1', 10 ** day);
      await uses.flush();
      clock.advance(DAY_MS);
    }
    // The eighth day has begun.
    clock.advance(-DAY_MS / 2 - 1);
    expect(await uses.told()).toBe(1_111_111);
    clock.advance(1);
    expect(await uses.told()).toBe(1_111_110);
    uses.call('k1', 2);
    await uses.flush();
    expect(await stranger(store, clock)).toBe(1_111_112);
    const { value } = (await store.get(KEYS.keyUses(OWNER))) ?? {};
    const { calls } = JSON.parse(value ?? '{}') as { calls: [string, number, number[]][] };
    expect(calls[0]?.[2]).toEqual([2, 1_000_000, 100_000, 10_000, 1000, 100, 10]);
    clock.advance(7 * DAY_MS);
    expect(await stranger(store, clock)).toBe(0);
  });

  test('of a clock that is days ahead are not told, and the others begin anew after it', async () => {
    await using store = await stores.open();
    const [clock, ahead] = [new FakeClock(NOON), new FakeClock(NOON + 30 * DAY_MS)];
    const [uses, wrong] = [replica(store, clock), replica(store, ahead)];
    uses.call('k1', 4);
    await uses.flush();
    wrong.call('k2', 5);
    await wrong.flush();
    uses.call('k1');
    await uses.finish();
    expect([await stranger(store, clock), await replica(store, clock).told('k2')]).toEqual([1, 0]);
  });

  test('of a key that is revoked go with the next write', async () => {
    await using store = await stores.open();
    const clock = new FakeClock(NOON);
    const living = ['k1', 'k2'];
    const uses = replica(store, clock, living);
    uses.call('k1');
    uses.call('k2');
    await uses.flush();
    living.pop();
    clock.advance(2 * KEY_USES_EVERY_MS);
    uses.call('k1');
    await uses.flush();
    expect([await uses.told('k1'), await uses.told('k2')]).toEqual([2, undefined]);
  });

  test('begin anew after a build that knows none has written the record, and a record without them is read', async () => {
    await using store = await stores.open();
    const clock = new FakeClock(NOON);
    const uses = replica(store, clock);
    uses.call('k1', 3);
    await uses.flush();
    const key = KEYS.keyUses(OWNER);
    const entry = await store.get(key);
    await store.commit({
      expect: [expectAsFound(key, entry)],
      write: [rawPut(key, { keys: [['k1', NOON + KEY_USES_EVERY_MS]] })],
    });
    expect(await uses.told()).toBe(0);
    clock.advance(3 * KEY_USES_EVERY_MS);
    uses.call('k1', 2);
    await uses.flush();
    expect(await stranger(store, clock)).toBe(2);
  });

  test('stay noted while none gets through', async () => {
    await using store = faultyStore(await stores.open());
    store.isAside = () => false;
    const clock = new FakeClock(NOON);
    const uses = replica(store, clock);
    uses.call('k1', 2);
    store.down.add('commit');
    await expect(uses.flush()).rejects.toThrow();
    uses.call('k1');
    expect(await uses.told()).toBe(3);
    store.down.delete('commit');
    await uses.flush();
    expect([await uses.told(), await stranger(store, clock)]).toEqual([3, 3]);
  });
});
