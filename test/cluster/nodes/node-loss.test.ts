import { afterAll, beforeAll, expect, test } from 'vitest';
import { call } from '../../support/service/muster.ts';
import { Cluster } from '../support/cluster.ts';
import { eventually } from '../support/control-plane/program.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { etcdBeside } from '../support/etcd-beside.ts';
import { buildImage } from '../support/node/image.ts';
import { etcdCertificates, etcdValues, imageValues } from '../support/release-values.ts';
import { Release, type Pod } from '../support/release.ts';
import { SteadyLoad } from '../support/steady-load.ts';

/*
 * Three replicas on two nodes, spread as in examples/external-etcd, of which one node is drained and then loses its
 * power. The first node has the control plane, so it is always the second one that goes.
 */

const ACCOUNTS = 8;
const REPLICAS = 3;
/** Kubernetes moves pods from a node that does not answer after five minutes, where nothing is said. */
const SOON = ['not-ready', 'unreachable'].map((taint) => ({
  key: `node.kubernetes.io/${taint}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 5,
}));

describeOn('cluster', 'three replicas that are spread over two nodes', () => {
  let cluster: Cluster;
  let release: Release;
  let keys: readonly string[];
  let api: string;
  const opened = new AsyncDisposableStack();
  beforeAll(async () => {
    const image = await buildImage();
    cluster = opened.use(await Cluster.start({ nodes: 2 }));
    await cluster.load(image.archive);
    const etcd = opened.use(await etcdBeside(cluster));
    const values = { replicas: REPLICAS, spread: { whenUnsatisfiable: 'DoNotSchedule' }, tolerations: SOON };
    release = await Release.prepare(cluster, {
      namespace: 'fleet',
      values: [imageValues(image), etcdValues(etcd), values],
    });
    await release.secretOf('etcd-tls', etcdCertificates(etcd));
    await release.install();
    keys = await release.apiKeys(ACCOUNTS);
    ({ api } = await release.addresses());
  });
  afterAll(() => opened.disposeAsync());

  const reads = (): SteadyLoad => new SteadyLoad({ url: `${api}/v1/apps`, tokens: keys });
  /** Replaces every pod. */
  const rollOut = async (round: string): Promise<readonly Pod[]> => {
    await release.upgrade(`podAnnotations.round=${round}`);
    return await release.settled(REPLICAS);
  };
  /** Resolves when all replicas are ready, and all of them on the first node. */
  const allOnFirst = (): Promise<void> =>
    eventually('all pods are on the first node', async () => {
      const pods = await release.settled(REPLICAS);
      return pods.every(({ node }) => node === 'node1');
    });

  test('a drained node keeps no upgrade away, and the next one after it is spread again', async () => {
    expect(nodesOf(await release.settled(REPLICAS))).toEqual(['node1', 'node2']);
    await using load = reads();
    await load.goesOn();
    await cluster.kubectl(['drain', 'node2', '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=300s']);
    await allOnFirst();
    expect(nodesOf(await rollOut('drained'))).toEqual(['node1']);
    await cluster.kubectl(['uncordon', 'node2']);
    expect(nodesOf(await rollOut('again'))).toEqual(['node1', 'node2']);
    await release.nobodyLeaves();
    await load.goesOn();
    await load.stop();
    tell(`drained, upgraded twice: ${load.summary()}`);
    if (load.failures.length > 0) tell(await release.complaints());
    expect(load.failures).toEqual([]);
  });

  test('a node that loses its power takes no acknowledged write with it; the others serve, and one leads', async () => {
    await leaderOnSecond(release);
    await using load = reads();
    const name = (number: number): string => `app ${number}`;
    const options = { url: `${api}/v1/apps`, tokens: keys, everyMs: 500 };
    await using writes = new SteadyLoad({ ...options, body: (number) => ({ name: name(number) }) });
    await writes.goesOn();

    const crashedAt = performance.now();
    const since = (): string => `${((performance.now() - crashedAt) / 1000).toFixed(1)} s`;
    await cluster.nodes[1]?.cutPower();
    const leads = release.leader('node1').then(() => tell(`a controller leads again after ${since()}`));
    await Promise.all([load.goesOn(), writes.goesOn(), leads]);
    await cluster.kubectl(['wait', 'node/node2', '--for=condition=Ready=Unknown', '--timeout=300s']);
    tell(`Kubernetes sees it after ${since()}`);
    await allOnFirst();
    tell(`its pods are replaced after ${since()}`);
    await Promise.all([load.goesOn(), writes.goesOn()]);
    await Promise.all([load.stop(), writes.stop()]);
    tell(`reads: ${load.summary()}; writes: ${writes.summary()}`);
    const last = Math.max(...[...load.failures, ...writes.failures].map(({ startedAt }) => startedAt));
    tell(`the last request that failed was sent ${((last - crashedAt) / 1000).toFixed(1)} s after the crash`);

    // A request that met the lost pods had no answer, and one that is to be sent again had 502; none had a wrong one.
    for (const { why } of [...load.failures, ...writes.failures]) expect(UNANSWERED).toContain(why);
    const stored = (await Promise.all(keys.map((key) => appNames(api, key)))).flat();
    expect(stored).toEqual(expect.arrayContaining(writes.successes.map(name)));
    await using after = reads();
    await after.goesOn();
    expect((await after.stop()).failures).toEqual([]);
  });

  test('a node whose power is back has its share again after the next upgrade', async () => {
    await cluster.nodes[1]?.restorePower();
    await cluster.kubectl(['wait', 'node/node2', '--for=condition=Ready', '--timeout=300s']);
    await release.nobodyLeaves();
    expect(nodesOf(await rollOut('back'))).toEqual(['node1', 'node2']);
    await release.testPasses();
  });
});

/** Of connections that nobody answers any more, and of a store that has no answer for a moment. */
const UNANSWERED = ['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ETIMEDOUT', 'no answer', '502'];

const nodesOf = (pods: readonly Pod[]): string[] => [...new Set(pods.map(({ node }) => node))].sort();

/** Replaces the leader until it is one of the second node's. */
const leaderOnSecond = (release: Release): Promise<void> =>
  eventually('the leader is on the second node', async () => {
    const { name, node } = await release.leader();
    if (node === 'node2') return true;
    await release.kubectl(['delete', 'pod', name]);
    await release.settled(REPLICAS);
    return false;
  });

async function appNames(api: string, token: string): Promise<string[]> {
  const { body } = await call(`${api}/v1/apps`, { token });
  return (body['apps'] as { name: string }[]).map(({ name }) => name);
}

const tell = (line: string): void => void process.stdout.write(`${line}\n`);
