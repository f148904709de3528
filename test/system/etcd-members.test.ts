import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEtcdStore } from '../../src/store/etcd/etcd-store.ts';
import { present, put, writes } from '../store/conformance/harness.ts';
import { held } from '../store/conformance/holds.ts';
import { record } from '../store/conformance/recorder.ts';
import { Leases } from '../store/etcd/lease/leases.ts';
import { eventually } from '../store/etcd/outage-calls.ts';
import { findEtcd, NO_ETCD } from '../support/etcd/etcd-binary.ts';
import { EtcdCluster, type EtcdMember } from '../support/etcd/etcd.ts';
import { rawKey } from '../support/store/raw-key.ts';

const binary = findEtcd();
const skipped = binary === undefined ? ` [skipped: ${NO_ETCD}]` : '';
const prefix = 'test/';

const threeMembers = (): Promise<EtcdCluster> =>
  EtcdCluster.start({ binary: binary ?? '', members: 3, unsafeNoFsync: true });

describe.skipIf(binary === undefined)(`three members of etcd${skipped}`, () => {
  let cluster: EtcdCluster;
  beforeAll(async () => {
    cluster = await threeMembers();
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  test('reads and commits go on without any one of them, killed or frozen', async () => {
    await using store = await openEtcdStore({ endpoints: cluster.urls, prefix });
    for (const [index, member] of cluster.members.entries()) {
      await member.kill();
      await eventually(() => writes(store, put(`t/killed/${index}`)));
      await member.start();
      member.freeze();
      await eventually(() => writes(store, put(`t/frozen/${index}`)));
      member.thaw();
    }
    for (const member of cluster.members) {
      await using alone = await eventually(() => openEtcdStore({ endpoints: [member.url], prefix }));
      expect((await eventually(() => alone.list({ prefix: 't/', limit: 10 }))).entries).toHaveLength(6);
    }
  });

  test('a member cut off from its peers ends its watches instead of leaving them silent', async () => {
    const [kept, ...others] = cluster.members;
    await using store = await eventually(() => openEtcdStore({ endpoints: [kept?.url ?? ''], prefix }));
    const { revision } = await eventually(() => store.head());
    using recording = await record(store, 't/', revision + 1);
    await Promise.all(others.map((member) => member.kill()));
    await recording.recorder.untilEnd();
    expect(recording.recorder.ends).toEqual(['disconnected']);
  });
});

/**
 * Elections and calls to a frozen member fit in between two renewals, on a machine that is busy with other tests, too.
 * No member is away for as long as this: one that wakes up after it and takes itself for the leader may still have the
 * lease revoked (etcd's own race; the fence in each commit is for that).
 */
const TTL_MS = 30_000;

describe.skipIf(binary === undefined)(`a hold on three members${skipped}`, { concurrent: true }, () => {
  test.each([
    ['killed', (member: EtcdMember) => member.kill(), (member: EtcdMember) => member.start()],
    ['frozen', async (member: EtcdMember) => member.freeze(), async (member: EtcdMember) => member.thaw()],
  ])('is kept while one after the other is %s', async (_, fell, recover) => {
    await using cluster = await threeMembers();
    await using store = await openEtcdStore({ endpoints: cluster.urls, prefix });
    const holder = await held(store.hold(rawKey('t/leader'), 'v', TTL_MS));
    for (const [index, member] of cluster.members.entries()) {
      await fell(member);
      using leases = new Leases(cluster.members[(index + 1) % cluster.members.length]?.url ?? '');
      await eventually(() => leases.untilRenewed());
      await recover(member);
    }
    expect(holder.lost.aborted).toBe(false);
    expect(await eventually(() => present(store, 't/leader'))).toMatchObject({
      value: 'v',
      revision: holder.revision,
    });
  });
});
