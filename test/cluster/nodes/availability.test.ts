import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { EtcdCluster } from '../../support/etcd/etcd.ts';
import { Cluster } from '../support/cluster.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { etcdBeside } from '../support/etcd-beside.ts';
import { buildImage } from '../support/node/image.ts';
import { etcdCertificates, etcdValues, imageValues } from '../support/release-values.ts';
import { Release } from '../support/release.ts';
import { SteadyLoad } from '../support/steady-load.ts';

/* Owners call the API all the while, through its Service, and notice none of what is done to the pods. */

const ACCOUNTS = 8;

describeOn('cluster', 'under a steady load through the Service', () => {
  let cluster: Cluster;
  let etcd: EtcdCluster;
  let release: Release;
  let keys: readonly string[];
  let load: SteadyLoad;
  beforeAll(async () => {
    const image = await buildImage();
    cluster = await Cluster.start({ nodes: 2 });
    await cluster.load(image.archive);
    etcd = await etcdBeside(cluster);
    release = await Release.prepare(cluster, { namespace: 'fleet', values: [imageValues(image), etcdValues(etcd)] });
    await release.secretOf('etcd-tls', etcdCertificates(etcd));
    await release.install();
    keys = await release.apiKeys(ACCOUNTS);
  });
  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
    await etcd[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    await release.settled(2);
    load = new SteadyLoad({ url: `${(await release.addresses()).api}/v1/apps`, tokens: keys });
    await load.goesOn();
  });
  afterEach(() => load.stop());

  /** The failures until now, after some more requests: a pod may lose one as long as it is there. */
  const failed = async (): Promise<readonly string[]> => {
    await release.nobodyLeaves();
    await load.goesOn();
    await load.stop();
    tell(load.summary());
    if (load.failures.length > 0) tell(await release.complaints());
    return load.failures.map(({ why }) => why);
  };

  test('a rolling update loses no request', async () => {
    const before = await release.pods();
    await release.upgrade('podAnnotations.round=second');
    const after = await release.settled(2);
    expect(after.filter(({ name }) => before.some((pod) => pod.name === name))).toEqual([]);
    expect(await failed()).toEqual([]);
  });

  test('draining nodes loses no request, and stops at the disruption budget', async () => {
    const drain = (node: string, timeout: string): Promise<string> =>
      cluster.kubectl(['drain', node, '--ignore-daemonsets', '--delete-emptydir-data', `--timeout=${timeout}`]);
    await drain('node2', '300s');
    const pods = await release.settled(2);
    expect(pods.map(({ node }) => node)).toEqual(['node1', 'node1']);
    // One may go, and has no place to come back to; without it, the other one must stay.
    await expect(drain('node1', '60s')).rejects.toThrow("violate the pod's disruption budget");
    expect((await release.pods()).filter(({ ready }) => ready)).toHaveLength(1);
    await cluster.kubectl(['uncordon', 'node1', 'node2']);
    await release.settled(2);
    expect(await failed()).toEqual([]);
  });

  test("deleting the leader's pod loses no request, and another leads", async () => {
    const leader = await release.leader();
    const deletedAt = performance.now();
    await release.kubectl(['delete', 'pod', leader.name, '--wait=false']);
    expect((await release.leader()).name).not.toBe(leader.name);
    tellHandOver(deletedAt);
    await release.settled(2);
    expect(await failed()).toEqual([]);
  });

  test("killing the leader's pod loses what it had in hand at most, and another leads", async () => {
    const leader = await release.leader();
    const killedAt = performance.now();
    await release.kubectl(['delete', 'pod', leader.name, '--grace-period=0', '--force']);
    expect((await release.leader()).name).not.toBe(leader.name);
    tellHandOver(killedAt);
    await release.settled(2);
    expectOfOnePod(await failed());
  });

  test('a crash of the leader loses the requests that it had, and another pod leads', async () => {
    const leader = await release.leader();
    const crashedAt = performance.now();
    cluster.nodes.find(({ name }) => name === leader.node)?.crash(leader.uid);
    // Any pod may lead: the crashed one is soon back, and competes with the other one.
    await release.leader();
    tellHandOver(crashedAt);
    await release.settled(2);
    expectOfOnePod(await failed());
  });
});

/** The Service still sends to a pod that is gone until Kubernetes sees it. A pod that lives refuses no request. */
function expectOfOnePod(failures: readonly string[]): void {
  for (const why of failures) expect(['ECONNREFUSED', 'ECONNRESET']).toContain(why);
}

const tellHandOver = (since: number): void =>
  tell(`a controller leads again after ${((performance.now() - since) / 1000).toFixed(1)} s`);

const tell = (line: string): void => void process.stdout.write(`${line}\n`);
