import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import type { Entry, Store } from '../../../src/store/port.ts';
import { call, type Muster } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

async function gauge({ ops }: Muster, name: string): Promise<string | undefined> {
  const { text } = await call(`${ops}/metrics`);
  return new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
}

onEachBackend('a replica whose record is gone', (backend) => {
  test('ends its term, and is back on the registry without a pause', async () => {
    const clock = new FakeClock();
    let store: Store | undefined;
    await using muster = await backend.fresh({ clock, wrapStore: (real) => (store = real) });
    const record = async (): Promise<Entry | undefined> =>
      (await store?.list({ prefix: KEYS.replica.under(), limit: 10 }))?.entries[0];
    await until(async () => (await gauge(muster, 'muster_controller_leading')) === '1');
    const rounds = (): Promise<string | undefined> =>
      gauge(muster, 'muster_loop_duration_seconds_count{loop="replicas",result="ok"}');
    await until(async () => (await rounds()) === '1');
    const before = await record();
    const { key = KEYS.replica('none'), revision = 0 } = before ?? {};
    await store?.commit({ expect: [expectRevision(key, revision)], write: [{ remove: key }], quiet: true });
    // The clock stands still: no pause of a loop ends.
    await until(async () => ((await record())?.revision ?? 0) > revision);
    await until(async () => (await gauge(muster, 'muster_replica_registered')) === '1');
    await until(async () => (await gauge(muster, 'muster_controller_terms_total{why="lost"}')) === '1');
    expect(await gauge(muster, 'muster_controller_leading')).toBe('0');
    await until(async () => {
      clock.advance(1000);
      return (await gauge(muster, 'muster_controller_leading')) === '1';
    });
  });
});
