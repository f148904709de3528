import { afterAll, beforeAll, expect, test } from 'vitest';
import { findEtcd } from '../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../support/etcd/etcd.ts';
import { call } from '../support/service/muster.ts';
import { Cluster } from './support/cluster.ts';
import { eventually } from './support/control-plane/program.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { buildImage } from './support/node/image.ts';
import { Release } from './support/release.ts';

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
  const readyReason = (resource: string): Promise<string> =>
    field(resource, '.status.conditions[?(@.type=="Ready")].reason');
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
    await testPasses(release);
  });

  test('an account and its key become a Secret that opens the API', async () => {
    await apply('FleetAccount', 'acme', { entitlement: 'enterprise', deletionPolicy: 'Disable' });
    await apply('FleetApiKey', 'acme', { accountRef: { name: 'acme' }, secretRef: { name: 'acme-key' } });
    await ready('fleetaccount/acme');
    await ready('fleetapikey/acme');
    expect(await statusOfKey((await release.secret('acme-key'))['apiKey'] ?? '')).toBe(200);
  });

  test('a daemon enrolls with the Secret of its FleetApp, and receives the configuration of a FleetOtelConfig', async () => {
    const accountRef = { name: 'acme' };
    // The order does not matter: its pod waits for the Secret.
    await release.kubectl(['create', '--filename=-'], JSON.stringify(daemon(await release.image(), 'scanner')));
    await apply('FleetOtelConfig', 'export', { accountRef, enabled: true, endpoint: ENDPOINT });
    await apply('FleetApp', 'scanner', { accountRef, enrollment: { secretRef: { name: 'scanner' } } });
    await release.kubectl(['wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/scanner', '--timeout=300s']);
    expect(await release.kubectl(['logs', 'scanner'])).toBe(`received ${ENDPOINT}\n`);
    await release.kubectl(['delete', 'pod', 'scanner']);
    await eventually(
      'the app is known to be enrolled',
      async () => (await readyReason('fleetapp/scanner')) === 'Active',
    );
    await eventually('the code leaves the Secret', async () => {
      const { appId, enrollCode } = await release.secret('scanner');
      return appId !== undefined && enrollCode === undefined;
    });
    await eventually('the configuration is known to be delivered', async () => {
      const delivery = await field('fleetotelconfig/export', '.status.delivery');
      return delivery !== '' && (JSON.parse(delivery) as { applied: number }).applied === 1;
    });
  });

  test('upgrade and rollback keep the secrets that the chart made, and the stored data', async () => {
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

  test('each kind does what its policy says when it is deleted', async () => {
    const { api, ops } = await release.addresses();
    const token = (await release.secret('acme-key'))['apiKey'] ?? '';
    const remove = (...named: readonly string[]): Promise<string> =>
      release.kubectl(['delete', ...named, '--timeout=300s']);
    const accountRef = { name: 'acme' };
    for (const deletionPolicy of ['Revoke', 'Retain']) {
      await apply('FleetApp', deletionPolicy.toLowerCase(), { accountRef, deletionPolicy });
      await ready(`fleetapp/${deletionPolicy.toLowerCase()}`);
    }
    await remove('fleetapp', 'scanner', 'revoke', 'retain');
    const { apps } = (await call(`${api}/v1/apps`, { token })).body as { apps: { name: string; status: string }[] };
    expect(apps.map(({ name, status }) => `${name} ${status}`).sort()).toEqual(['retain pending', 'revoke revoked']);
    await eventually('its Secret goes with it', async () => Object.keys(await release.secret('scanner')).length === 0);
    await remove('fleetotelconfig', 'export');
    expect((await call(`${api}/v1/otel-config`, { token })).body).toMatchObject({ enabled: false, endpoint: '' });

    const accountId = await field('fleetaccount/acme', '.status.accountId');
    await remove('fleetapikey', 'acme');
    expect(await statusOfKey(token)).toBe(401);
    await remove('fleetaccount', 'acme');
    const account = await call(`${ops}/operator/v1/accounts/${accountId}`, { token: await release.operatorToken() });
    expect(account.body).toMatchObject({ accountId, disabled: true });
  });

  test('uninstalling leaves the definitions and the keys by default', async () => {
    await release.uninstall();
    await eventually('pods are gone', async () => !(await left()).some((name) => name.startsWith('pod/')));
    expect(await left()).toEqual(['secret/etcd-tls', 'secret/muster-secrets']);
    expect((await cluster.kubectl(['get', ...CRDS, '--output=name'])).trim().split('\n')).toHaveLength(CRDS.length);
  });

  test('helm 4 adopts the objects that are left, upgrades from an earlier chart, rolls back to it, and leaves nothing', async () => {
    const helm4 = release.by(4);
    const isThere = async (what: string): Promise<boolean> =>
      (await cluster.kubectl(['get', what, '--namespace=fleet', '--ignore-not-found', '--output=name'])) !== '';
    const now = ['poddisruptionbudget/muster', 'clusterrole/fleet:muster-operator'];
    const nothingKept = ['crds.keep=false', 'secrets.keep=false'];
    await helm4.installPrevious();
    await apply('FleetAccount', 'later', { entitlement: 'standard' });
    await ready('fleetaccount/later');
    const token = await release.operatorToken();
    expect(await Promise.all(now.map(isThere))).toEqual([false, false]);

    await helm4.upgrade(...nothingKept);
    await release.settled(2);
    await testPasses(helm4);
    expect(await Promise.all(now.map(isThere))).toEqual([true, true]);
    await helm4.rollback(1);
    await release.settled(2);
    expect(await Promise.all(now.map(isThere))).toEqual([false, false]);
    await helm4.upgrade(...nothingKept);
    expect(await release.operatorToken()).toBe(token);
    await apply('FleetAccount', 'last', { entitlement: 'standard' });
    await ready('fleetaccount/last');

    // The finalizers run before an uninstall takes everything.
    await helm4.uninstall();
    await eventually('pods are gone', async () => !(await left()).some((name) => name.startsWith('pod/')));
    expect(await left()).toEqual(['secret/etcd-tls']);
    expect(await cluster.kubectl(['get', 'crd,clusterroles,clusterrolebindings', '--output=name'])).not.toContain(
      'muster',
    );
  });
});

/** It says no, too, where a pod of a busy machine is not ready for a moment. */
const testPasses = (release: Release): Promise<void> =>
  eventually('helm test passes', () =>
    release.test().then(
      () => true,
      () => false,
    ),
  );

const ENDPOINT = 'https://otel.example.com';

/** The program of a daemon; the Secret fills its environment. */
const DAEMON = `
  const { appId, enrollCode, serverUrl } = process.env;
  const ask = async (path, credential, body) => {
    const headers = credential === undefined ? {} : { authorization: \`Bearer \${credential}\` };
    const answer = await fetch(serverUrl + '/device/v1/' + path, {
      headers,
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(path + ': ' + answer.status + ' ' + await answer.text());
    return answer.status === 204 ? {} : await answer.json();
  };
  const { credential } = await ask('enroll', undefined, {
    appId, enrollCode, platform: 'linux', agentVersion: '1.0.0', connection: 'cloud',
  });
  for (;;) {
    const { revision, otel } = await ask('config', credential);
    if (otel.enabled) {
      await ask('config/ack', credential, { revision, status: 'applied' });
      console.log('received ' + otel.endpoint);
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
`;

/** A pod of the image's Node, which is allowed what `restricted` allows. */
function daemon(image: string, name: string): object {
  const securityContext = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  };
  const command = ['node', '--input-type=module', '--eval', DAEMON];
  const envFrom = [{ secretRef: { name } }];
  const container = { name, image, imagePullPolicy: 'Never', command, envFrom, securityContext };
  const spec = { restartPolicy: 'Never', automountServiceAccountToken: false, containers: [container] };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
}
