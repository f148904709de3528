import { expect, test } from 'vitest';
import { metric, setOtel } from '../../support/service/daemon.ts';
import { call, createApp, Muster, OPERATOR_TOKEN, tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';
import { untilPassing } from '../../support/time/until-passing.ts';

/* What is not backed up, not purged, or on a wrong clock is told by these series. */

const BACKUP = 'muster_backup_last_timestamp_seconds';
const OLDEST_PURGE = 'muster_purge_oldest_age_seconds';

/** @returns the whole text of a backup */
async function backup({ ops }: Muster): Promise<string> {
  const response = await fetch(`${ops}/operator/v1/backup`, { headers: { authorization: `Bearer ${OPERATOR_TOKEN}` } });
  expect(response.status).toBe(200);
  return await response.text();
}
/** Undefined where the replica does not have the series. */
async function value({ ops }: Muster, series: string): Promise<number | undefined> {
  const found = new RegExp(`^${series} (\\S+)$`, 'm').exec((await call(`${ops}/metrics`)).text)?.[1];
  return found === undefined ? undefined : Number(found);
}
onEachBackend('the age of the last backup', (backend) => {
  test('is 0 before the first one, and then the instant of the newest, over restarts and replicas', async () => {
    const [clock, place] = [new FakeClock(), backend.place()];
    await using first = await backend.fresh({ ...place, clock });
    await untilPassing(clock, async () => (await value(first, BACKUP)) === 0);
    const second = backend.name === 'etcd' ? await backend.fresh({ ...place, clock }) : first;
    await using _ = second === first ? undefined : second;
    const made = clock.now() / 1000;
    await backup(second);
    await untilPassing(clock, async () => ((await value(first, BACKUP)) ?? 0) >= made);
    const noted = await value(first, BACKUP);
    clock.advance(1000);
    await backup(first);
    await untilPassing(clock, async () => ((await value(first, BACKUP)) ?? 0) > (noted ?? Number.POSITIVE_INFINITY));
    // It is told by the leader alone.
    if (second !== first) expect(await value(second, BACKUP)).toBeUndefined();
  });

  test('one that cannot be noted is sent all the same', async () => {
    let faulty: FaultyStore | undefined;
    await using muster = await backend.fresh({ wrapStore: (store) => (faulty = faultyStore(store)) });
    await createApp(muster, (await tenant(muster)).apiKey);
    const noted = ({ write }: { readonly write: readonly object[] }): boolean =>
      write.some((one) => 'put' in one && one.put === 'last-backup');
    if (faulty) {
      faulty.isPlanned = noted;
      faulty.fates.push('lost before commit');
    }
    expect(await backup(muster)).toContain('d/a/');
    await until(() => muster.logged.some((line) => line.includes('it could not be noted')));
  });
});

onEachBackend('the wall clock of a replica', (backend) => {
  test('is told as of the scrape', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    expect(await metric(muster, 'muster_wall_clock_seconds')).toBe(clock.now() / 1000);
    clock.jump(3000);
    expect(await metric(muster, 'muster_wall_clock_seconds')).toBe(clock.now() / 1000);
  });
});

// On the etcd that tests share nobody compacts.
test('the age of the oldest purge grows while no compaction gets through, and is 0 when it is out of the history', async () => {
  const clock = new FakeClock();
  let faulty: FaultyStore | undefined;
  await using muster = await Muster.start({ clock, wrapStore: (store) => (faulty = faultyStore(store)) });
  const { apiKey } = await tenant(muster);
  await untilPassing(clock, async () => (await value(muster, OLDEST_PURGE)) === 0);
  faulty?.down.add('compact');
  await setOtel(muster, apiKey, { authHeader: 'Bearer collector-secret' });
  await call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: apiKey });
  const purged = clock.now();
  await untilPassing(clock, async () => ((await value(muster, OLDEST_PURGE)) ?? 0) > 120);
  expect(await value(muster, OLDEST_PURGE)).toBeLessThanOrEqual((clock.now() - purged) / 1000);
  faulty?.down.delete('compact');
  await untilPassing(clock, async () => (await value(muster, OLDEST_PURGE)) === 0);
});
