import { expect, test } from 'vitest';
import { createLastUses } from '../../../src/domain/last-uses/last-uses.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { createLog } from '../../../src/log.ts';
import { expectAbsent } from '../../../src/store/port.ts';
import { rawPut } from '../../support/store/raw-key.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* The last uses of many owners are read alone: an installation has far more accounts than people have keys in. */

onEachStore('the last uses of many owners', (stores) => {
  test.each([
    ['of a few are read by themselves', 1000, { gets: 1000, lists: 0 }],
    ['of more are listed', 1001, { gets: 0, lists: 1 }],
  ])('%s, and are alike', async (_how, count, reads) => {
    await using store = await stores.open();
    const [one, other, stranger] = ['owner-0', 'owner-1', 'stranger'].map((owner) => KEYS.keyUses(owner));
    if (!one || !other || !stranger) throw new Error('no keys');
    const write = [
      rawPut(one, { keys: [['k', 10]] }),
      rawPut(other, { keys: 'damaged' }),
      rawPut(stranger, { keys: [['k', 30]] }),
    ];
    await store.commit({ expect: [expectAbsent(one)], write });
    const seen = { gets: 0, lists: 0 };
    const counted = wrappedStore(store, {
      get: async (key) => ((seen.gets += 1), await store.get(key)),
      list: async (request) => ((seen.lists += 1), await store.list(request)),
    });
    const clock = new FakeClock(40);
    const uses = createLastUses('API keys', { store: counted, clock, log: createLog('silent'), idsOf: () => ['k'] });
    uses.used('owner-1', 'k');
    uses.used('stranger', 'k');
    const known = await uses.usesOfMany(new Set(Array.from({ length: count }, (_none, n) => `owner-${n}`)));
    expect([known.size, known.get('owner-0')?.get('k'), known.get('owner-1')?.get('k')]).toEqual([count, 10, 40]);
    expect([known.get('owner-2')?.size, known.has('stranger'), seen]).toEqual([0, false, reads]);
  });
});
