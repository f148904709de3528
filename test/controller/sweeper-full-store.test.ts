import { expect, test } from 'vitest';
import { newApp } from '../../src/domain/apps/app-state.ts';
import { spendExpiredCodes } from '../../src/domain/apps/expired-codes.ts';
import { EXPIRY_MARGIN_MS } from '../../src/domain/cleanup/sweep.ts';
import { systemRandom } from '../../src/domain/credentials/random-ids.ts';
import { FleetMemory } from '../../src/domain/fleet/memory.ts';
import { put } from '../../src/domain/records/codec.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import { createLog } from '../../src/log.ts';
import { expectAbsent } from '../../src/store/port.ts';
import { ACCOUNT } from '../support/records/audit.ts';
import { faultyStore } from '../support/store/faulty-store.ts';
import { onEachStore } from '../support/store/stores.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { rawPut } from '../support/store/raw-key.ts';
import { boundedStore } from '../support/store/bounded-store.ts';

onEachStore('the clean-up of a nearly full store', (stores) => {
  test('leaves expired codes as they are from 95 % on, for the room of revocations, and spends them below', async () => {
    await using faulty = faultyStore(await stores.open());
    const clock = new FakeClock();
    const memory = new FleetMemory({ onUnreadable: () => expect.unreachable('all can be read') });
    const codes = [{ hash: 'code', issuedAt: 1, expiresAt: clock.now() - EXPIRY_MARGIN_MS }];
    const account = { name: '', entitlement: 'standard', disabled: false, createdAt: 1 };
    const app = { ...newApp('', 0, 1, { hash: 'none', issuedAt: 1 }), codes };
    for (const record of [rawPut(KEYS.account(ACCOUNT), account), put(KEYS.app(ACCOUNT, 'app'), app)]) {
      await faulty.commit({ expect: [expectAbsent(record.put)], write: [record] });
      const entry = await faulty.get(record.put);
      if (entry) memory.put(entry);
    }
    const unused = { random: systemRandom(), log: createLog('silent'), auditRetentionDays: 1 };
    const deps = { ...unused, store: boundedStore(faulty), clock, memory, fence: [] };
    const sweep = () => spendExpiredCodes(deps, undefined, new AbortController().signal);
    faulty.full = 0.95;
    await expect(sweep()).rejects.toMatchObject({ reason: 'full' });
    faulty.full = 0.949;
    expect((await sweep()).gone).toBe(1);
  });
});
