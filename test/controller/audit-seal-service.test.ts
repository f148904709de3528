import { expect, test } from 'vitest';
import { verifyAudit } from '../../src/domain/audit/verify.ts';
import type { Store } from '../../src/store/port.ts';
import { createApp, tenant } from '../support/service/muster.ts';
import { onEachBackend } from '../support/store/backends.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { until } from '../support/time/until.ts';

onEachBackend('sealing, in a service', (backend) => {
  test('the entries of each account are sealed within ten seconds', async () => {
    const clock = new FakeClock();
    let store: Store | undefined;
    await using muster = await backend.fresh({ clock, wrapStore: (inner) => (store = inner) });
    const owners = [await tenant(muster), await tenant(muster)];
    for (const { apiKey } of owners) await createApp(muster, apiKey);
    const opened = store ?? expect.unreachable('it has a store');
    const isSealed = async (): Promise<boolean> => {
      const found = await Promise.all(owners.map(({ accountId }) => verifyAudit(opened, accountId)));
      return found.every(({ entries, unsealed, faults }) => entries === 3 && unsealed === 0 && faults.length === 0);
    };
    // Each turn of the wheel is a second of the service's time, as far as anybody waits for it.
    const startedAt = clock.now();
    await until(async () => {
      if (clock.sleeping > 0 && clock.now() - startedAt < 10_000) clock.advance(1000);
      return await isSealed();
    });
    expect(clock.now() - startedAt).toBeLessThanOrEqual(10_000);
  });
});
