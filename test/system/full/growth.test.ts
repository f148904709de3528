import { describe, expect, test } from 'vitest';
import { openEtcdStore } from '../../../src/store/etcd/etcd-store.ts';
import { pagesOf } from '../../../src/store/pages.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { alarms, sizesOf } from '../../support/etcd/etcd-sizes.ts';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import { until } from '../../support/time/until.ts';
import { rawKey } from '../../support/store/raw-key.ts';
import { boundedStore } from '../../support/store/bounded-store.ts';

const binary = findEtcd();
const title = `A12: growth on a small etcd${binary ? '' : ` [skipped: ${NO_ETCD}]`}`;

const QUOTA_BYTES = 24_000_000;
const AT_ONCE = 50;
const options = { binary: binary ?? '', unsafeNoFsync: true, flags: [`--quota-backend-bytes=${QUOTA_BYTES}`] };

const open = async (etcd: EtcdCluster): Promise<Store> =>
  boundedStore(await openEtcdStore({ endpoints: etcd.urls, prefix: 'm/', deadlineMs: 20_000 }));

/** Creates records of a class that is refused first. @returns how many were taken; the others were refused as `full` */
async function grow(store: Store, name: string, count: number, bytes: number): Promise<number> {
  const results = await Promise.allSettled(
    Array.from({ length: count }, async (_, n) => {
      const key = `review/a/${name}/${n}`;
      await store.commit({ expect: [expectAbsent(key)], write: [{ put: rawKey(key), value: 'x'.repeat(bytes) }] });
    }),
  );
  const refused = results.filter((result) => result.status === 'rejected');
  for (const { reason } of refused) expect(reason).toMatchObject({ reason: 'full' });
  return count - refused.length;
}

/**
 * Creates until etcd is near the bound of growth: a replica counts more than it writes until its next look, and so
 * comes closer with each. @returns how many were taken
 */
async function fill(store: Store, etcd: EtcdCluster, name: string, bytes: number): Promise<number> {
  let [taken, round] = [0, 0];
  await until(async () => {
    round += 1;
    taken += await grow(store, `${name}-${round}`, AT_ONCE, bytes);
    const { inUse, file } = await sizesOf(etcd);
    return Math.max(inUse, file - 0.1 * QUOTA_BYTES) >= 0.77 * QUOTA_BYTES;
  });
  return taken;
}

describe.skipIf(binary === undefined)(title, () => {
  test('commits that all come while there is room, and wait for each other, raise no alarm', async () => {
    await using etcd = await EtcdCluster.start(options);
    await using store = await open(etcd);
    expect(await grow(store, 'before', 150, 60_000)).toBe(150);
    const taken = await grow(store, 'burst', 800, 60_000);
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThan(200);
    expect(await alarms(etcd)).toEqual([]);
  });

  test('large values do not grow a file past the quota whose freed pages are too short for them', async () => {
    await using etcd = await EtcdCluster.start(options);
    await using store = await open(etcd);
    expect(await fill(store, etcd, 'small', 1500)).toBeGreaterThan(1000);
    // Two of three neighbours go: their pages become free, in runs that are short.
    for await (const { entries } of pagesOf(store, { prefix: 'review/', limit: 100, keysOnly: true })) {
      const [first, ...others] = entries.filter((_, n) => n % 12 >= 4).map(({ key }) => ({ remove: key }));
      if (first) await store.commit({ expect: [expectAbsent('none')], write: [first, ...others] });
    }
    await store.compact((await store.head()).revision);
    await until(async () => (await sizesOf(etcd)).inUse < 0.5 * QUOTA_BYTES);
    await fill(store, etcd, 'large', 60_000);
    expect(await alarms(etcd)).toEqual([]);
  });
});
