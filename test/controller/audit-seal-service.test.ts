import { expect, test } from 'vitest';
import { verifyAudit } from '../../src/domain/audit/verify.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import type { Store } from '../../src/store/port.ts';
import { wrappedStore } from '../support/store/wrapped-store.ts';
import { createApp, tenant } from '../support/service/muster.ts';
import { onEachBackend } from '../support/store/backends.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { until } from '../support/time/until.ts';

onEachBackend('sealing, in a service', (backend) => {
  test('the entries of each account are sealed within ten seconds', async () => {
    const clock = new FakeClock();
    let store: Store | undefined;
    let brought = 0;
    const listening = Promise.withResolvers<void>();
    const watched = (inner: Store): Store =>
      wrappedStore(inner, {
        watch: (prefix, from, listener) =>
          inner.watch(prefix, from, {
            ...listener,
            onOpen() {
              listener.onOpen();
              if (prefix === KEYS.audit.under()) listening.resolve();
            },
            onBatch(batch) {
              listener.onBatch(batch);
              if (prefix === KEYS.audit.under()) brought += batch.changes.length;
            },
          }),
      });
    await using muster = await backend.fresh({ clock, wrapStore: (inner) => (store = watched(inner)) });
    await listening.promise;
    const owners = [await tenant(muster), await tenant(muster)];
    for (const { apiKey } of owners) await createApp(muster, apiKey);
    const opened = store ?? expect.unreachable('it has a store');
    const isSealed = async (): Promise<boolean> => {
      const found = await Promise.all(owners.map(({ accountId }) => verifyAudit(opened, accountId)));
      return found.every(({ entries, unsealed, faults }) => entries === 3 && unsealed === 0 && faults.length === 0);
    };
    // The watch takes real time. Then each look is a second of the service's time, as far as anybody waits for it.
    await until(() => brought >= 6);
    const startedAt = clock.now();
    await until(async () => {
      if (clock.sleeping > 0 && clock.now() - startedAt < 10_000) clock.advance(1000);
      return await isSealed();
    });
    expect(clock.now() - startedAt).toBeLessThanOrEqual(10_000);
  });
});
