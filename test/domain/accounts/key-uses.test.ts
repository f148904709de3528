import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createKeyUses, KEY_USES_EVERY_MS } from '../../../src/domain/accounts/key-uses.ts';
import { createLog } from '../../../src/log.ts';
import type { Store } from '../../../src/store/port.ts';
import { runs } from '../../support/run/effort.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { onEachStore } from '../../support/store/stores.ts';

const KEYS_HERE = ['k1', 'k2', 'k3'];

function replica(store: Store) {
  let now = 0;
  const uses = createKeyUses({
    store,
    clock: { now: () => now },
    log: createLog('silent'),
    keysOf: () => KEYS_HERE,
  });
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
      fc.record({ at: fc.integer({ min: 1, max: 1000 }), key: fc.constantFrom(...KEYS_HERE), by: fc.nat({ max: 1 }) }),
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
        for (const each of replicas) await each.flush();
        expect(new Map(await replica(store).lastUses('a'))).toEqual(expected);
      }),
      { numRuns: runs(20) },
    );
  });

  test('are written twice a minute, so that one that is late is less than a minute behind', () => {
    expect(2 * KEY_USES_EVERY_MS).toBeLessThanOrEqual(60_000);
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
