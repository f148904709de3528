import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLastUses, KEY_USES_EVERY_MS } from '../../../src/domain/last-uses/last-uses.ts';
import { createLog } from '../../../src/log.ts';
import type { Store } from '../../../src/store/port.ts';
import { runs } from '../../support/run/effort.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { onEachStore } from '../../support/store/stores.ts';

const KEYS_HERE = ['k1', 'k2', 'k3'];

function replica(store: Store, of: 'API keys' | 'sessions' = 'API keys') {
  let now = 0;
  const clock = { now: () => now };
  const uses = createLastUses(of, { store, clock, log: createLog('silent'), idsOf: () => KEYS_HERE });
  return {
    ...uses,
    at: (instant: number, keyId: string): void => {
      now = instant;
      uses.used('a', keyId);
    },
  };
}

onEachStore('the uses of keys that replicas note', (stores) => {
  test('are the greatest instants, whoever writes when, and whatever is lost on the way', async () => {
    const step = fc.oneof(
      fc.record({
        at: fc.integer({ min: 1, max: 3 * KEY_USES_EVERY_MS }),
        key: fc.constantFrom(...KEYS_HERE),
        by: fc.nat({ max: 1 }),
      }),
      fc.record({ flush: fc.nat({ max: 1 }), lost: fc.boolean() }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        await using store = faultyStore(await stores.open());
        store.isAside = () => false;
        const replicas = [replica(store), replica(store)] as const;
        const expected = new Map<string, number>();
        for (const one of steps) {
          if ('at' in one) {
            replicas[one.by as 0 | 1].at(one.at, one.key);
            expected.set(one.key, Math.max(one.at, expected.get(one.key) ?? 0));
          } else {
            if (one.lost) store.fates.push('answer lost after commit');
            await replicas[one.flush as 0 | 1].flush().catch(() => undefined);
            store.fates.length = 0;
          }
        }
        // What the first call leaves to the other replica the second one writes.
        for (const each of [...replicas, ...replicas]) await each.flush();
        expect(new Map(await replica(store).lastUses('a'))).toEqual(expected);
      }),
      { numRuns: runs(20) },
    );
  });

  test('are left once at most, so that each is written in less than a minute', async () => {
    expect(2 * KEY_USES_EVERY_MS).toBeLessThan(60_000);
    await using store = await stores.open();
    const [one, other] = [replica(store), replica(store)];
    const written = async () => (await replica(store).lastUses('a')).get('k1');
    one.at(1_000_000, 'k1');
    await one.flush();
    other.at(1_000_000 + KEY_USES_EVERY_MS, 'k1');
    await other.flush();
    expect(await written()).toBe(1_000_000);
    other.at(1_000_001 + KEY_USES_EVERY_MS, 'k1');
    await other.flush();
    expect(await written()).toBe(1_000_001 + KEY_USES_EVERY_MS);
  });

  test('of sessions are not left: each is written by the next call', async () => {
    await using store = await stores.open();
    const [one, other] = [replica(store, 'sessions'), replica(store, 'sessions')];
    one.at(1_000_000, 'k1');
    await one.flush();
    other.at(1_000_001, 'k1');
    await other.flush();
    expect((await replica(store, 'sessions').lastUses('a')).get('k1')).toBe(1_000_001);
    expect(await replica(store).lastUses('a')).toEqual(new Map());
  });

  test('are written at once where they are much later, and all of them at the end of the process', async () => {
    await using store = await stores.open();
    const uses = replica(store);
    const written = async () => (await replica(store).lastUses('a')).get('k1');
    uses.at(1_000_000, 'k1');
    await uses.flush();
    uses.at(1_000_001 + KEY_USES_EVERY_MS, 'k1');
    await uses.flush();
    expect(await written()).toBe(1_000_001 + KEY_USES_EVERY_MS);
    uses.at(1_000_002 + KEY_USES_EVERY_MS, 'k1');
    await uses.finish();
    expect(await written()).toBe(1_000_002 + KEY_USES_EVERY_MS);
  });

  test('of a key that three replicas serve cost one write in 25 s at most, and not three', async () => {
    await using store = faultyStore(await stores.open());
    store.isAside = () => false;
    const replicas = [replica(store), replica(store), replica(store)];
    const ROUNDS = 40;
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [index, each] of replicas.entries()) {
        each.at(1_000_000 + round * KEY_USES_EVERY_MS + index * 5000, 'k1');
        await each.flush();
      }
    }
    expect(store.calls.commit).toBeLessThanOrEqual(ROUNDS);
  });

  test.each(['flush', 'finish'] as const)('get through where another replica comes first: %s', async (by) => {
    await using store = faultyStore(await stores.open());
    store.isAside = () => false;
    const uses = replica(store);
    uses.at(5, 'k1');
    store.fates.push('conflict', 'conflict');
    await uses[by]();
    expect((await replica(store).lastUses('a')).get('k1')).toBe(5);
  });

  test('do not go back on the replica that saw them while they are written', async () => {
    await using store = await stores.open();
    const uses = replica(store);
    uses.at(5, 'k1');
    const writing = uses.flush();
    const told = await uses.lastUses('a');
    await writing;
    expect(told.get('k1')).toBe(5);
  });

  test('cost no write where nothing was used, and stay noted while none gets through', async () => {
    await using store = faultyStore(await stores.open());
    store.isAside = () => false;
    const uses = replica(store);
    await uses.flush();
    expect(store.calls.commit).toBe(0);
    store.down.add('commit');
    uses.at(5, 'k1');
    await expect(uses.flush()).rejects.toThrow();
    await uses.finish();
    uses.at(4, 'k1');
    store.down.delete('commit');
    await uses.flush();
    expect(new Map(await replica(store).lastUses('a'))).toEqual(new Map([['k1', 5]]));
  });
});
