import { expect, test } from 'vitest';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { commitSteps, type PlannedStep } from '../../../src/domain/mutation/commit.ts';
import { createLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics/service-metrics.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { replicaOn } from '../../support/metering/metering.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const planned = (number: number, revision: number): PlannedStep => ({
  origin: { actor: 'test', requestId: 'test', at: 1, deadline: Number.POSITIVE_INFINITY },
  step: {
    accountId: 'abc',
    action: 'app.deleted',
    expect: [expectRevision('seen', revision)],
    write: [{ put: rawKey(`of/${number}`), value: '{}' }],
    result: undefined,
  },
});

onEachStore('steps that share a commit', (stores) => {
  test('must have seen every record at one revision: what another one saw later does not vouch for it', async () => {
    await using opened = await stores.open();
    const store = faultyStore(opened);
    const clock = new FakeClock();
    await using replica = await replicaOn(store, clock);
    const { fleet } = replica.deps;
    const deps = {
      store,
      fleet,
      clock,
      random: systemRandom(),
      log: createLog('silent'),
      metrics: createMetrics('test'),
    };
    const noNames = () => undefined;
    const before = store.calls.commit;
    expect(await commitSteps(deps, [planned(1, 5), planned(2, 0)], noNames)).toBe('conflict');
    expect(await commitSteps(deps, [planned(1, 0), planned(2, 5)], noNames)).toBe('conflict');
    expect(store.calls.commit).toBe(before);
    expect(await commitSteps(deps, [planned(1, 0), planned(2, 0)], noNames)).not.toBe('conflict');
    expect(await store.get('of/1')).toBeDefined();
  });
});
