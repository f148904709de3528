import { randomUUID } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { call, Muster } from '../../support/service/muster.ts';
import { rawPut } from '../../support/store/raw-key.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const url = inject('etcd');
const NOON = Date.UTC(2026, 5, 1, 12);

async function gauge({ ops }: Muster, name: string): Promise<number> {
  const { text } = await call(`${ops}/metrics`);
  return Number(new RegExp(`^${name.replaceAll(/[{}]/g, '\\$&')} (\\S+)$`, 'm').exec(text)?.[1]);
}

describe.skipIf(url === undefined)('three replicas on one etcd', () => {
  test('a replica whose clock is an hour ahead does not trust it, the others trust theirs, and all report it', async () => {
    const env = { MUSTER_ETCD_PREFIX: `/${randomUUID()}/` };
    const clocks = [NOON, NOON, NOON + 3_600_000].map((now) => new FakeClock(now));
    const start = (clock: FakeClock | undefined): Promise<Muster> =>
      Muster.start({ store: `etcd:${url}`, env, ...(clock && { clock }) });
    await using one = await start(clocks[0]);
    await using other = await start(clocks[1]);
    await using wrong = await start(clocks[2]);
    const all = [one, other, wrong];

    await until(async () => {
      for (const clock of clocks) clock.advance(1000);
      const skews = await Promise.all(all.map((muster) => gauge(muster, 'muster_clock_skew_seconds')));
      return skews.every((skew) => skew > 3500);
    });
    expect(await Promise.all(all.map((muster) => gauge(muster, 'muster_replicas')))).toEqual([3, 3, 3]);
    expect(await Promise.all(all.map((muster) => gauge(muster, 'muster_clock_trusted')))).toEqual([1, 1, 0]);
    expect(wrong.logged.some((line) => line.includes('the clocks of other replicas contradict this one'))).toBe(true);
  });
});

test('an embedded store keeps the record of a dead process whose clock was off: it outvotes nobody, and is no replica', async () => {
  const clock = new FakeClock(NOON);
  let store: Store | undefined;
  await using muster = await Muster.start({ clock, wrapStore: (real) => (store = real) });
  const [own] = (await store?.list({ prefix: KEYS.replica.under(), limit: 10 }))?.entries ?? [];
  const dead = { ...(JSON.parse(own?.value ?? '') as object), replicaId: 'dead', clock: NOON - 3_600_000 };
  await store?.commit({ expect: [expectAbsent('never')], write: [rawPut(KEYS.replica('dead'), dead)] });
  const rounds = () => gauge(muster, 'muster_loop_duration_seconds_count{loop="replicas",result="ok"}');
  for (let round = 0; round < 2; round += 1) {
    const before = await rounds();
    await until(async () => {
      clock.advance(1000);
      return (await rounds()) > before;
    });
  }
  expect(await gauge(muster, 'muster_clock_trusted')).toBe(1);
  expect(await gauge(muster, 'muster_clock_skew_seconds')).toBe(0);
  expect(await gauge(muster, 'muster_replicas')).toBe(1);
});
