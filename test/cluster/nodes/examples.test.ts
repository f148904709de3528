import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addUser } from '../../support/etcd/etcd-users.ts';
import { call } from '../../support/service/muster.ts';
import { Cluster } from '../support/cluster.ts';
import { eventually } from '../support/control-plane/program.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { etcdBeside } from '../support/etcd-beside.ts';
import { makeForeignDefinitions } from '../support/foreign-definitions.ts';
import { buildImage, type Image } from '../support/node/image.ts';
import { makeVolume } from '../support/node/volume.ts';
import { etcdCertificates, imageValues, SMALL } from '../support/release-values.ts';
import { giveAddress, Release, restrictedNamespace } from '../support/release.ts';

/*
 * Each way to install that docs/INSTALL.md names, with its `helm test`, beside each other on one cluster. What is
 * changed of the values: the image, the addresses of etcd, and what a pod asks for, since all of them share one
 * machine.
 */

const EXAMPLES = join(import.meta.dirname, '../../../examples');
const example = (name: string): string => join(EXAMPLES, name, 'values.yaml');
/** No load balancer stands before them. */
const QUICK = { minReadySeconds: 0, config: { drainDelaySeconds: 0 } };
/** The definitions of custom resources belong to one release of a cluster: the trial's, here. */
const NO_DEFINITIONS = { crds: { install: false } };
const USER = { username: 'muster', password: 'a password' };

describeOn('cluster', 'each way to install', () => {
  let image: Image;
  let cluster: Cluster;
  const opened = new AsyncDisposableStack();
  beforeAll(async () => {
    image = await buildImage();
    cluster = opened.use(await Cluster.start({ nodes: 2 }));
    await cluster.load(image.archive);
    await makeForeignDefinitions(cluster);
  });
  afterAll(() => opened.disposeAsync());

  const prepared = (namespace: string, ...values: readonly (string | object)[]): Promise<Release> =>
    Release.prepare(cluster, { namespace, values: [...values, imageValues(image), QUICK] });
  /** A Secret with a certificate for the Service of a listener, as cert-manager writes one. */
  const certificate = async (release: Release, listener: 'api' | 'device' | 'ops'): Promise<void> => {
    const { authority } = cluster.plane;
    const host = `muster-${listener}.${release.namespace}.svc`;
    const made = authority.issue({ name: host, subject: `/CN=${host}`, hosts: [`DNS:${host}`] });
    const files = { 'tls.crt': made.certificate, 'tls.key': made.key, 'ca.crt': authority.certificate };
    await release.secretOf(`muster-${listener}-tls`, files);
  };

  test('the example for a laptop passes its test, and leaves nothing', async () => {
    const laptop = await prepared('laptop', example('laptop'));
    await makeVolume(cluster, 'laptop', 'muster-data');
    const before = await objects(cluster, laptop);
    await laptop.install();
    await laptop.testPasses();
    await laptop.uninstall();
    await eventually('its pod is gone', async () => (await laptop.kubectl(['get', 'pods', '--output=name'])) === '');
    expect(await objects(cluster, laptop)).toEqual(before);
  });

  describe.concurrent('side by side', () => {
    test('the trial passes its test, and its data outlives its pod on a volume', async ({ expect }) => {
      const trial = await prepared('trial');
      await makeVolume(cluster, 'trial', 'muster-data');
      await trial.install();
      const accountId = await makeAccount(trial);
      const [pod] = await trial.settled(1);
      await trial.kubectl(['delete', 'pod', pod?.name ?? '']);
      await trial.settled(1);
      expect(await accounts(trial)).toEqual([accountId]);
      await trial.testPasses();
    });

    test('the trial without a volume passes its test, and its data goes with its pod', async ({ expect }) => {
      const trial = await prepared('brief', NO_DEFINITIONS, { store: { sqlite: { persistence: { enabled: false } } } });
      await trial.install();
      await makeAccount(trial);
      const [pod] = await trial.settled(1);
      await trial.kubectl(['delete', 'pod', pod?.name ?? '']);
      await trial.settled(1);
      expect(await accounts(trial)).toEqual([]);
      await trial.testPasses();
    });

    test('the example of production passes its test, on an etcd with users and by TLS', async ({ expect }) => {
      const etcd = opened.use(await etcdBeside(cluster));
      await addUser(etcd, USER, '/muster/');
      await restrictedNamespace(cluster, 'edge-north');
      const production = await prepared('fleet', example('external-etcd'), NO_DEFINITIONS, {
        store: { etcd: { endpoints: etcd.urls } },
      });
      await production.secretOf('muster-etcd-client', etcdCertificates(etcd));
      await production.secretOfTexts('muster-etcd-user', USER);
      await production.secretOfTexts('muster-secrets', tokenAndKeys());
      for (const listener of ['api', 'device', 'ops'] as const) await certificate(production, listener);
      await Promise.all([production.install(), giveAddress(cluster, 'fleet', 'muster-device')]);
      expect(await production.settled(3)).toHaveLength(3);
      await production.testPasses();
    });

    test('the example for a GitOps tool passes its test, with a Deployment for each role', async ({ expect }) => {
      const etcd = opened.use(await etcdBeside(cluster, 1));
      const gitops = await prepared('gitops', example('gitops'), NO_DEFINITIONS, {
        store: { etcd: { endpoints: etcd.urls } },
        operator: { namespaces: ['edge-north'] },
        split: { device: { resources: SMALL } },
      });
      await gitops.secretOf('muster-etcd-client', etcdCertificates(etcd));
      await gitops.secretOfTexts('muster-secrets', tokenAndKeys());
      // cert-manager would make them of the Certificates.
      for (const listener of ['device', 'ops'] as const) await certificate(gitops, listener);
      await gitops.install();
      expect(await gitops.settled(2 + 3 + 2)).toHaveLength(7);
      await gitops.testPasses();
    });
  });
});

const tokenAndKeys = (): Readonly<Record<string, string>> => ({
  'operator-token': randomBytes(24).toString('hex'),
  keys: `1:${randomBytes(32).toString('base64')}`,
});

/** Everything that a release could leave, but for events and what Kubernetes has in each namespace. */
async function objects(cluster: Cluster, release: Release): Promise<string[]> {
  const kinds =
    'deployments,services,pods,jobs,secrets,configmaps,serviceaccounts,roles,rolebindings,poddisruptionbudgets,pvc';
  const within = await release.kubectl(['get', kinds, '--output=name']);
  const without = await cluster.kubectl(['get', 'crd,clusterroles,clusterrolebindings', '--output=name']);
  return `${within}${without}`.trim().split('\n').sort();
}

async function makeAccount(release: Release): Promise<string> {
  const [{ ops }, token] = await Promise.all([release.addresses(), release.operatorToken()]);
  const body = { name: 'first', entitlement: 'standard' };
  const made = await call(`${ops}/operator/v1/accounts`, { method: 'POST', token, body });
  return String(made.body['accountId']);
}

async function accounts(release: Release): Promise<readonly string[]> {
  const [{ ops }, token] = await Promise.all([release.addresses(), release.operatorToken()]);
  const listed = await call(`${ops}/operator/v1/accounts`, { token });
  return (listed.body['accounts'] as { accountId: string }[]).map(({ accountId }) => accountId);
}
