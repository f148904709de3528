import { expect, test } from 'vitest';
import { sweepReconciler } from '../../src/controller/sweeper.ts';
import { systemRandom } from '../../src/domain/credentials/random-ids.ts';
import { newApp } from '../../src/domain/apps/app-state.ts';
import { FleetMemory } from '../../src/domain/fleet/memory.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import { createClockWatch } from '../../src/domain/status-history/clock-trust.ts';
import { createLog } from '../../src/log.ts';
import { expectAbsent } from '../../src/store/port.ts';
import { entriesOf } from '../support/service/accounts.ts';
import { onEachStore } from '../support/store/stores.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { rawPut } from '../support/store/raw-key.ts';

const [ACCOUNT, KNOWN, NEW, GONE] = ['a1b2c3d4e5f6g7h8', 'app_known', 'app_new', 'app_gone'];

onEachStore('the clean-up of what apps said', (stores) => {
  test('removes it where the app is gone, also where memory has not heard of the app yet', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const memory = new FleetMemory({ onUnreadable: () => expect.unreachable('all can be read') });
    const write = async (key: string, record: object): Promise<void> => {
      await store.commit({ expect: [expectAbsent(key)], write: [rawPut(key, record)] });
    };
    const app = newApp('', 0, 1);
    for (const appId of [KNOWN, NEW]) await write(KEYS.app(ACCOUNT, appId), app);
    const known = await store.get(KEYS.app(ACCOUNT, KNOWN));
    if (known) memory.put(known);
    for (const appId of [KNOWN, NEW, GONE]) {
      await write(KEYS.opampAgent(ACCOUNT, appId), {});
      await write(KEYS.ack(ACCOUNT, appId), {});
    }
    const gone = new Map<string, number>();
    const log = createLog('silent');
    const sweeper = sweepReconciler(
      {
        store,
        fleet: { memory },
        clock,
        clockWatch: createClockWatch({ clock, log }),
        random: systemRandom(),
        log,
        metrics: { cleaned: (what, count = 1) => void gone.set(what, (gone.get(what) ?? 0) + count) },
        auditRetentionDays: 10,
      },
      { fence: [], signal: new AbortController().signal },
    );
    for (let round = 0; round < 3; round += 1) await sweeper.reconcile(new AbortController().signal);
    const left = async (prefix: string) => (await entriesOf(store, prefix)).map(({ key }) => key);
    expect(await left(KEYS.opampAgent.under())).toEqual([KNOWN, NEW].map((id) => KEYS.opampAgent(ACCOUNT, id)));
    expect(await left(KEYS.ack.under())).toEqual([KNOWN, NEW].map((id) => KEYS.ack(ACCOUNT, id)));
    expect(gone.get('app_notes')).toBe(2);
  });
});
