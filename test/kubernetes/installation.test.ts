import { afterAll, beforeAll, expect, test } from 'vitest';
import { EtcdCluster } from '../support/etcd.ts';
import { findEtcd } from '../support/etcd-binary.ts';
import { call, createApp, enroll, poll } from '../support/muster.ts';
import { Cluster } from './support/cluster.ts';
import { buildImage } from './support/image.ts';
import { eventually } from './support/program.ts';
import { Release } from './support/release.ts';
import { describeOn } from './support/tools.ts';

/* The chart and the image together, from nothing to nothing, on two nodes and an etcd of three members. */

const KINDS = ['fleetaccounts', 'fleetapikeys', 'fleetapps', 'fleetotelconfigs'];
const CRDS = KINDS.map((plural) => `crd/${plural}.muster.dev`);

describeOn('cluster', 'an installation', () => {
  let cluster: Cluster;
  let etcd: EtcdCluster;
  let release: Release;
  beforeAll(async () => {
    const image = await buildImage();
    cluster = await Cluster.start({ nodes: 2 });
    await cluster.load(image.archive);
    const address = cluster.hostAddress;
    etcd = await EtcdCluster.start({ binary: findEtcd() ?? '', members: 3, tls: true, unsafeNoFsync: true, address });
    release = await Release.prepare(cluster, image, etcd);
  });
  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
    await etcd[Symbol.asyncDispose]();
  });

  const apply = (kind: string, name: string, spec: object): Promise<string> => {
    const resource = { apiVersion: 'muster.dev/v1beta1', kind, metadata: { name }, spec };
    return release.kubectl(['apply', '--filename=-'], JSON.stringify(resource));
  };
  const ready = (resource: string): Promise<string> =>
    release.kubectl(['wait', '--for=condition=Ready', resource, '--timeout=300s']);
  const field = (resource: string, path: string): Promise<string> =>
    release.kubectl(['get', resource, `--output=jsonpath={${path}}`]);
  /** Everything of these kinds in the namespace that Kubernetes itself does not put into each. */
  const left = async (): Promise<string[]> => {
    const kinds = 'deployments,services,pods,jobs,secrets,serviceaccounts,roles,rolebindings,poddisruptionbudgets';
    const names = (await release.kubectl(['get', kinds, '--output=name'])).trim().split('\n');
    return names.filter((name) => name !== 'serviceaccount/default').sort();
  };
  const statusOfKey = async (apiKey: string): Promise<number> =>
    (await call(`${(await release.addresses()).api}/v1/apps`, { token: apiKey })).status;

  test('is ready where only restricted pods may run, with its definitions, and finds itself well', async () => {
    await release.install();
    expect(await release.settled(2)).toHaveLength(2);
    await cluster.kubectl(['wait', '--for=condition=Established', ...CRDS, '--timeout=60s']);
    // It says no, too, where a pod of a busy machine is not ready for a moment.
    await eventually('helm test passes', () =>
      release.test().then(
        () => true,
        () => false,
      ),
    );
  });

  test('an account and its key become a Secret that opens the API', async () => {
    await apply('FleetAccount', 'acme', { entitlement: 'enterprise', deletionPolicy: 'Disable' });
    await apply('FleetApiKey', 'acme', { accountRef: { name: 'acme' }, secretRef: { name: 'acme-key' } });
    await ready('fleetaccount/acme');
    await ready('fleetapikey/acme');
    expect(await statusOfKey((await release.secret('acme-key'))['apiKey'] ?? '')).toBe(200);
  });

  test('a daemon enrolls at the device Service, and receives the configuration', async () => {
    const addresses = await release.addresses();
    const apiKey = (await release.secret('acme-key'))['apiKey'] ?? '';
    const credential = await enroll(addresses, await createApp(addresses, apiKey));
    expect((await call(`${addresses.api}/v1/otel-config`, otel(apiKey))).status).toBe(200);
    await eventually('the daemon has the configuration', async () => {
      const answer = await poll(addresses, credential);
      return answer.text.includes('https://otel.example.com');
    });
  });

  test('upgrade and rollback keep the secrets that the chart made, and what is stored', async () => {
    const token = await release.operatorToken();
    const apiKey = (await release.secret('acme-key'))['apiKey'] ?? '';
    await release.upgrade('config.logLevel=debug', 'replicas=3');
    expect(await release.settled(3)).toHaveLength(3);
    await release.rollback(1);
    await release.settled(2);
    expect(
      await field('deployment/muster', '.spec.template.spec.containers[0].env[?(@.name=="MUSTER_LOG_LEVEL")].value'),
    ).toBe('info');
    expect([await release.operatorToken(), await statusOfKey(apiKey)]).toEqual([token, 200]);
  });

  test('a deleted key is revoked, and a deleted account does what its policy says', async () => {
    const apiKey = (await release.secret('acme-key'))['apiKey'] ?? '';
    const accountId = await field('fleetaccount/acme', '.status.accountId');
    await release.kubectl(['delete', 'fleetapikey', 'acme', '--timeout=300s']);
    expect(await statusOfKey(apiKey)).toBe(401);
    await release.kubectl(['delete', 'fleetaccount', 'acme', '--timeout=300s']);
    const [{ ops }, token] = await Promise.all([release.addresses(), release.operatorToken()]);
    const account = await call(`${ops}/operator/v1/accounts/${accountId}`, { token });
    expect(account.body).toMatchObject({ accountId, disabled: true });
  });

  test('uninstalling leaves what it keeps by default: the definitions and the keys', async () => {
    await release.uninstall();
    await eventually('pods are gone', async () => !(await left()).some((name) => name.startsWith('pod/')));
    expect(await left()).toEqual(['secret/etcd-tls', 'secret/muster-secrets']);
    expect((await cluster.kubectl(['get', ...CRDS, '--output=name'])).trim().split('\n')).toHaveLength(CRDS.length);
  });

  test('where nothing is kept, the finalizers run before an uninstall takes everything', async () => {
    await release.install('crds.keep=false', 'secrets.keep=false');
    await apply('FleetAccount', 'later', { entitlement: 'standard' });
    await ready('fleetaccount/later');
    await release.uninstall();
    await eventually('pods are gone', async () => !(await left()).some((name) => name.startsWith('pod/')));
    expect(await left()).toEqual(['secret/etcd-tls']);
    expect(await cluster.kubectl(['get', 'crd', '--output=name'])).not.toContain('muster.dev');
  });
});

const otel = (apiKey: string): { method: string; token: string; body: object } => ({
  method: 'PUT',
  token: apiKey,
  body: { enabled: true, endpoint: 'https://otel.example.com' },
});
