import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EtcdCluster } from '../../support/etcd/etcd.ts';
import { GOOD_PASSWORD } from '../../support/panel/visitor.ts';
import { call } from '../../support/service/muster.ts';
import { Cluster } from '../support/cluster.ts';
import { eventually } from '../support/control-plane/program.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { etcdBeside } from '../support/etcd-beside.ts';
import { daemonPod, ENDPOINT } from '../support/daemon-pod.ts';
import { buildImage } from '../support/node/image.ts';
import { PanelVisitor } from '../support/panel-visitor.ts';
import { etcdCertificates, etcdValues, imageValues } from '../support/release-values.ts';
import { Release } from '../support/release.ts';

/* The chart and the image together, from nothing to nothing, on two nodes and an etcd of three members. */

const KINDS = ['fleetaccounts', 'fleetapikeys', 'fleetapps', 'fleetotelconfigs'];
/** The panel, behind a proxy that speaks TLS: whoever reaches a Service here may be one. */
const PANEL = {
  panel: { enabled: true, url: 'https://muster.example.com' },
  config: { trustedProxies: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '127.0.0.0/8'] },
};
const CRDS = KINDS.map((plural) => `crd/${plural}.muster.dev`);

describeOn('cluster', 'an installation', () => {
  let cluster: Cluster;
  let etcd: EtcdCluster;
  let release: Release;
  beforeAll(async () => {
    const image = await buildImage();
    cluster = await Cluster.start({ nodes: 2 });
    await cluster.load(image.archive);
    etcd = await etcdBeside(cluster);
    const values = [imageValues(image), etcdValues(etcd), PANEL];
    release = await Release.prepare(cluster, { namespace: 'fleet', values });
    await release.secretOf('etcd-tls', etcdCertificates(etcd));
  });
  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
    await etcd[Symbol.asyncDispose]();
  });

  const readyReason = (resource: string): Promise<string> =>
    release.field(resource, '.status.conditions[?(@.type=="Ready")].reason');
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
    await release.testPasses();
  });

  test('an account and its key become a Secret that opens the API', async () => {
    await release.apply('FleetAccount', 'acme', { entitlement: 'enterprise', deletionPolicy: 'Disable' });
    await release.apply('FleetApiKey', 'acme', { accountRef: { name: 'acme' }, secretRef: { name: 'acme-key' } });
    await release.ready('fleetaccount/acme');
    await release.ready('fleetapikey/acme');
    expect(await statusOfKey((await release.secret('acme-key'))['apiKey'] ?? '')).toBe(200);
  });

  test('the first operator signs in at the panel, and sees the account', async () => {
    const [{ ops }, token] = [await release.addresses(), await release.operatorToken()];
    const body = { name: 'Ann', login: 'ann@example.com', operator: true };
    const made = await call(`${ops}/operator/v1/users`, { method: 'POST', token, body });
    const link = new URL((made.body['link'] as { url: string }).url);
    expect([made.status, link.origin]).toEqual([201, PANEL.panel.url]);
    const visitor = new PanelVisitor(await release.panel(), PANEL.panel.url);
    expect((await visitor.ask('/me')).status).toBe(401);
    const accepted = await visitor.ask('/links/accept', { token: link.hash.slice(1), password: GOOD_PASSWORD });
    expect([accepted.status, visitor.cookies]).toEqual([200, ['__Host-muster', '__Host-muster-browser']]);
    // Each request may come to another pod.
    for (let count = 0; count < 10; count += 1) {
      expect(await visitor.ask('/me')).toMatchObject({ status: 200, body: { name: 'Ann', operator: true } });
    }
    const accountId = await release.field('fleetaccount/acme', '.status.accountId');
    expect(await visitor.ask(`/accounts/${accountId}/overview`)).toMatchObject({ status: 200, body: { name: 'acme' } });
    const again = new PanelVisitor(await release.panel(), PANEL.panel.url);
    const signedIn = await again.ask('/sign-in/password', { login: body.login, password: GOOD_PASSWORD });
    expect([signedIn.status, (await again.ask('/me')).status]).toEqual([200, 200]);
  });

  test('a daemon enrolls with the Secret of its FleetApp, and receives the configuration of a FleetOtelConfig', async () => {
    const accountRef = { name: 'acme' };
    // The order does not matter: its pod waits for the Secret.
    await release.kubectl(['create', '--filename=-'], JSON.stringify(daemonPod(await release.image(), 'scanner')));
    await release.apply('FleetOtelConfig', 'export', { accountRef, enabled: true, endpoint: ENDPOINT });
    await release.apply('FleetApp', 'scanner', { accountRef, enrollment: { secretRef: { name: 'scanner' } } });
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
      const delivery = await release.field('fleetotelconfig/export', '.status.delivery');
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
      await release.field(
        'deployment/muster',
        '.spec.template.spec.containers[0].env[?(@.name=="MUSTER_LOG_LEVEL")].value',
      ),
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
      await release.apply('FleetApp', deletionPolicy.toLowerCase(), { accountRef, deletionPolicy });
      await release.ready(`fleetapp/${deletionPolicy.toLowerCase()}`);
    }
    await remove('fleetapp', 'scanner', 'revoke', 'retain');
    const { apps } = (await call(`${api}/v1/apps`, { token })).body as { apps: { name: string; status: string }[] };
    expect(apps.map(({ name, status }) => `${name} ${status}`).sort()).toEqual(['retain pending', 'revoke revoked']);
    await eventually('its Secret goes with it', async () => Object.keys(await release.secret('scanner')).length === 0);
    await remove('fleetotelconfig', 'export');
    expect((await call(`${api}/v1/otel-config`, { token })).body).toMatchObject({ enabled: false, endpoint: '' });

    const accountId = await release.field('fleetaccount/acme', '.status.accountId');
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

  test('helm 4 adopts the objects that are left, and leaves nothing where nothing is to be kept', async () => {
    const helm4 = release.by({ helm: 4 });
    const token = await release.operatorToken();
    await helm4.install();
    expect(await release.operatorToken()).toBe(token);
    await release.apply('FleetAccount', 'last', { entitlement: 'standard' });
    await release.ready('fleetaccount/last');
    await helm4.upgrade('crds.keep=false', 'secrets.keep=false');
    await release.settled(2);

    // The finalizers run before an uninstall takes everything.
    await helm4.uninstall();
    await eventually('pods are gone', async () => !(await left()).some((name) => name.startsWith('pod/')));
    expect(await left()).toEqual(['secret/etcd-tls']);
    expect(await cluster.kubectl(['get', 'crd,clusterroles,clusterrolebindings', '--output=name'])).not.toContain(
      'muster',
    );
  });
});
