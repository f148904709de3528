import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { command } from '../cluster/support/control-plane/command.ts';
import { toolPath } from '../cluster/support/control-plane/tools.ts';
import {
  CHART,
  describeWithHelm,
  KUBE_VERSION,
  ofKind,
  ON_ETCD,
  render,
  template,
  type Values,
} from './support/render.ts';

/* The values that helm refuses, in words, and the neighbours that it takes. */

const etcd = (more: Values): Values => ({
  store: { type: 'etcd', etcd: { endpoints: ['https://etcd:2379'], ...more } },
});
const onEtcd = (more: Values): Values => ({ ...ON_ETCD, ...more });

describeWithHelm('a mistake in the values', () => {
  test.each<[string, Values, RegExp, Values]>([
    ['a value of another chart', { replicaCount: 2 }, /replicaCount.* not allowed/s, { replicas: 1 }],
    ['a slip below the top', { image: { tagg: '1' } }, /tagg.* not allowed/s, { image: { tag: '1' } }],
    [
      'a slip in a split',
      { split: { api: { replica: 2 } } },
      /replica.* not allowed/s,
      { split: { api: { replicas: 2 } } },
    ],
    ['a store that there is not', { store: { type: 'postgres' } }, /store\/type/, { store: { type: 'sqlite' } }],
    ['etcd without an address', { store: { type: 'etcd' } }, /store\.etcd\.endpoints: name the members/, ON_ETCD],
    [
      'an etcd whose data an upgrade with one file of values too few would leave for an empty file',
      { store: { etcd: { endpoints: ['https://etcd:2379'] } } },
      /store\.type: is sqlite, and store\.etcd\.endpoints names an etcd/,
      ON_ETCD,
    ],
    [
      'an address without a port',
      etcd({ endpoints: ['https://etcd'] }),
      /endpoints\/0/,
      etcd({ endpoints: ['https://etcd:1'] }),
    ],
    [
      'an address with a user in it',
      etcd({ endpoints: ['https://a:b@etcd:1'] }),
      /endpoints\/0/,
      etcd({ endpoints: ['https://[::1]:1'] }),
    ],
    [
      'a password in the address of a proxy, which many could read in the pod',
      { config: { egressProxy: 'http://user:password@proxy:3128' } },
      /config\/egressProxy/,
      { config: { egressProxy: 'http://proxy:3128' } },
    ],
    [
      'a name where owners may call addresses',
      { config: { egressAllow: ['collector.monitoring'] } },
      /config\/egressAllow\/0/,
      { config: { egressAllow: ['10.20.0.0/16'] } },
    ],
    [
      'a namespace that can be none',
      { networkPolicy: { monitoringNamespace: 'Prometheus' } },
      /networkPolicy\/monitoringNamespace/,
      { networkPolicy: { monitoringNamespace: 'monitoring' } },
    ],
    [
      'a spread that there is not',
      { spread: { whenUnsatisfiable: 'Never' } },
      /spread\/whenUnsatisfiable/,
      { spread: { whenUnsatisfiable: 'DoNotSchedule' } },
    ],
    [
      'cert-manager without an issuer',
      { tls: { certManager: { enabled: true } } },
      /tls\.certManager\.issuerRef\.name: name the Issuer/,
      { tls: { certManager: { enabled: true, issuerRef: { name: 'a' } } } },
    ],
    [
      'http beside https',
      etcd({ endpoints: ['http://a:1', 'https://b:1'] }),
      /all http:\/\/ or all https/,
      etcd({ endpoints: ['http://a:1', 'http://b:1'] }),
    ],
    [
      'certificates without https',
      etcd({ endpoints: ['http://a:1'], tls: { existingSecret: 'x' } }),
      /certificates need https/,
      etcd({ tls: { existingSecret: 'x' } }),
    ],
    [
      'several replicas of the embedded store',
      { replicas: 2 },
      /replicas: the embedded store has one/,
      onEtcd({ replicas: 2 }),
    ],
    [
      'a split embedded store',
      { split: { enabled: true } },
      /split\.enabled: the embedded/,
      onEtcd({ split: { enabled: true } }),
    ],
    [
      'an autoscaled embedded store',
      { autoscaling: { enabled: true } },
      /autoscaling\.enabled: the embedded/,
      onEtcd({ autoscaling: { enabled: true } }),
    ],
    [
      "the release's own namespace by its name",
      { operator: { namespaces: ['fleet'] } },
      /operator\.namespaces: fleet is the release's own/,
      { operator: { namespaces: ['fleet'], watchReleaseNamespace: true } },
    ],
    [
      'labels of namespaces without rights in the cluster',
      { operator: { namespaceSelector: 'team', clusterRole: false } },
      /operator\.namespaceSelector: .*needs operator\.clusterRole=true/,
      { operator: { namespaces: ['team'], clusterRole: false } },
    ],
    [
      'no time to drain',
      { terminationGracePeriodSeconds: 44 },
      /terminationGracePeriodSeconds: must be 30 s longer/,
      { terminationGracePeriodSeconds: 45 },
    ],
    [
      'both monitors',
      { metrics: { podMonitor: { enabled: true }, serviceMonitor: { enabled: true } } },
      /every series comes twice/,
      { metrics: { podMonitor: { enabled: true } } },
    ],
    [
      'a scrape without the token that it needs',
      { config: { metricsAuth: 'token' }, metrics: { podMonitor: { enabled: true } } },
      /metrics\.token\.existingSecret: with config\.metricsAuth=token the monitors need a Secret with an operator token/,
      {
        config: { metricsAuth: 'token' },
        metrics: { podMonitor: { enabled: true }, token: { existingSecret: 'scrape' } },
      },
    ],
    [
      'a scrape that lasts longer than its interval',
      { metrics: { serviceMonitor: { interval: '1m', scrapeTimeout: '1m1s' } } },
      /metrics\.serviceMonitor\.scrapeTimeout: 1m1s is longer than the interval of 1m/,
      { metrics: { serviceMonitor: { interval: '1m', scrapeTimeout: '60s' } } },
    ],
    [
      'two bounds of disruptions',
      onEtcd({ podDisruptionBudget: { minAvailable: 1, maxUnavailable: 1 } }),
      /podDisruptionBudget: muster has minAvailable and maxUnavailable; set one/,
      onEtcd({ podDisruptionBudget: { minAvailable: '50%' } }),
    ],
    [
      'Secrets of the cluster without rights in the cluster',
      { operator: { clusterSecrets: true, clusterRole: false } },
      /operator\.clusterSecrets: .*set operator\.clusterRole=true/,
      { operator: { clusterSecrets: true } },
    ],
    [
      'an alert that there is not',
      { metrics: { prometheusRule: { rules: { MusterFine: { for: '1m' } } } } },
      /metrics\.prometheusRule\.rules\.MusterFine: there is no such alert/,
      { metrics: { prometheusRule: { rules: { MusterDown: { for: '1d' } } } } },
    ],
    [
      'a threshold of an alert that has none',
      { metrics: { prometheusRule: { rules: { MusterDown: { threshold: 2 } } } } },
      /rules\.MusterDown\.threshold: it compares with no single number\. These do: .*MusterEventLoopBusy/,
      { metrics: { prometheusRule: { rules: { MusterEventLoopBusy: { threshold: 2 } } } } },
    ],
    [
      'a label by which rules go already',
      { metrics: { prometheusRule: { additionalAggregationLabels: ['namespace'] } } },
      /additionalAggregationLabels\/0/,
      { metrics: { prometheusRule: { additionalAggregationLabels: ['region'] } } },
    ],
    [
      'an Ingress without a host',
      { ingress: { api: { enabled: true } } },
      /ingress\.api\.hosts/,
      { ingress: { api: { enabled: true, hosts: ['a.b'] } } },
    ],
    [
      'a host with a path',
      { ingress: { api: { hosts: ['a.b/c'] } } },
      /hosts\/0/,
      { ingress: { api: { hosts: ['*.a.b'] } } },
    ],
    [
      'a route without a Gateway',
      { gateway: { device: { enabled: true } } },
      /gateway\.device\.parentRefs/,
      { gateway: { device: { enabled: true, parentRefs: [{ name: 'public' }] } } },
    ],
    [
      'a TLSRoute to a listener of HTTP',
      { gateway: { device: { enabled: true, kind: 'TLSRoute', parentRefs: [{ name: 'a' }], hostnames: ['a.b'] } } },
      /needs TLS in the pod; set tls\.device\.existingSecret/,
      {
        gateway: { device: { enabled: true, kind: 'TLSRoute', parentRefs: [{ name: 'a' }], hostnames: ['a.b'] } },
        tls: { device: { existingSecret: 'x' } },
      },
    ],
    [
      'a TLSRoute for any host',
      {
        gateway: { api: { enabled: true, kind: 'TLSRoute', parentRefs: [{ name: 'a' }] } },
        tls: { api: { existingSecret: 'x' } },
      },
      /goes by the host name/,
      {
        gateway: { api: { enabled: true, kind: 'HTTPRoute', parentRefs: [{ name: 'a' }] } },
        tls: { api: { existingSecret: 'x' } },
      },
    ],
    [
      'a quota that a tool may round',
      etcd({ quotaBytes: 8589934592 }),
      /quotaBytes/,
      etcd({ quotaBytes: '8589934592' }),
    ],
    [
      'resources that are neither requests nor limits',
      { resources: { request: { cpu: '1' } } },
      /request.* not allowed/s,
      { resources: { requests: { cpu: '1' } } },
    ],
    [
      'a quantity in a unit that there is not',
      { resources: { limits: { memory: '1GB' } } },
      /resources\/limits\/memory/,
      { resources: { limits: { memory: '1.5Gi', cpu: 0.5, 'ephemeral-storage': '1e9' } } },
    ],
    [
      'a negative quantity',
      { resources: { requests: { cpu: -1 } } },
      /resources\/requests\/cpu/,
      { resources: { requests: { cpu: 1 } } },
    ],
    [
      'a resource that there is not',
      { resources: { limits: { mem: '1Gi' } } },
      /resources\/limits.*'mem' not allowed/s,
      { resources: { limits: { 'hugepages-2Mi': '4Mi', 'example.com/gpu': 1 } } },
    ],
    [
      'a quantity in a split that is none',
      onEtcd({ split: { api: { resources: { requests: { cpu: 'one' } } } } }),
      /split\/api\/resources\/requests\/cpu/,
      onEtcd({ split: { api: { resources: { requests: { cpu: '100m' } } } } }),
    ],
    [
      'resources of the Jobs by a wrong name',
      { jobs: { resources: { claims: [] } } },
      /claims.* not allowed/s,
      { jobs: { resources: { limits: { memory: '512Mi' } } } },
    ],
    [
      'a price as a number',
      { config: { pricePerDaemonMonth: 2.5 } },
      /pricePerDaemonMonth/,
      { config: { pricePerDaemonMonth: '2.50' } },
    ],
    [
      'a label that is a boolean',
      { nodeSelector: { spot: true } },
      /nodeSelector\/spot/,
      { nodeSelector: { spot: 'true' } },
    ],
    [
      'a variable without a name',
      { extraEnv: [{ value: 'x' }] },
      /extraEnv\/0/,
      { extraEnv: [{ name: 'A', value: 'x' }] },
    ],
    [
      'a namespace that cannot be',
      { operator: { namespaces: ['A_B'] } },
      /namespaces\/0/,
      { operator: { namespaces: ['a-b'] } },
    ],
    [
      'a label selector without values',
      { operator: { namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } } },
      /matchExpressions/,
      { operator: { namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] } } },
    ],
    [
      'a label selector with values that mean nothing',
      { operator: { namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] } } },
      /matchExpressions/,
      { operator: { namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'Exists' }] } } },
    ],
    [
      'a device URL that is none',
      { operator: { deviceUrl: 'devices' } },
      /deviceUrl/,
      { operator: { deviceUrl: 'https://devices' } },
    ],
    [
      'an OpAMP path of the device plane',
      { opamp: { path: '/device/v1/opamp' } },
      /opamp\.path: the paths below \/device/,
      { opamp: { path: '/devices/opamp' } },
    ],
    [
      'an OpAMP path that ends in a slash',
      { opamp: { path: '/v1/opamp/' } },
      /opamp\/path/,
      { opamp: { path: '/opamp' } },
    ],
    [
      'a bootstrap without an address',
      { opamp: { bootstrap: 'on' } },
      /opamp\.url: agents that come with a code/,
      { opamp: { bootstrap: 'on', url: 'https://devices.example.com/v1/opamp' } },
    ],
    [
      'a template of collectors that goes nowhere',
      { opamp: { template: 'exporters: {otlp_http: {headers: $(MUSTER_HEADERS)}}' } },
      /opamp\.template: it has no \$\(MUSTER_ENDPOINT\)/,
      { opamp: { template: 'exporters: {otlp_http: {endpoint: $(MUSTER_ENDPOINT), headers: $(MUSTER_HEADERS)}}' } },
    ],
    [
      'an authority that is no certificate',
      { opamp: { ca: '/etc/ssl/ca.crt' } },
      /opamp\/ca/,
      { opamp: { ca: '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n' } },
    ],
  ])('%s', async (_what, refused, words, taken) => {
    await expect(template({ values: refused })).rejects.toThrow(words);
    expect(await template({ values: taken })).toContain('kind: Deployment');
  });
});

describeWithHelm('as a part of another chart', () => {
  async function inParent(values: Values): Promise<string> {
    const parent = mkdtempSync(join(tmpdir(), 'muster-chart-'));
    try {
      mkdirSync(join(parent, 'charts'));
      symlinkSync(CHART, join(parent, 'charts/muster'));
      const dependencies = [{ name: 'muster', version: '0.1.0', condition: 'muster.enabled' }];
      const chart = { apiVersion: 'v2', name: 'platform', version: '1.0.0', dependencies };
      writeFileSync(join(parent, 'Chart.yaml'), JSON.stringify(chart));
      return await template({ chart: parent, values });
    } finally {
      rmSync(parent, { recursive: true });
    }
  }

  test('it takes globals that it knows, and those of others; and a condition', async () => {
    const rendered = await inParent({
      global: { imageRegistry: 'images.example.com', imagePullSecrets: ['pull'], storageClass: 'fast' },
      muster: { enabled: true },
    });
    expect(rendered).toContain('image: "images.example.com/muster:0.1.0"');
    expect(rendered).toContain('- name: "pull"');
    expect(await inParent({ muster: { enabled: false } })).not.toContain('muster');
  });

  test('it is as strict', async () => {
    await expect(inParent({ muster: { replicaCount: 1 } })).rejects.toThrow(/replicaCount.* not allowed/s);
  });
});

describe('names that are words of YAML', () => {
  describeWithHelm('are names', () => {
    test.each(['yes', 'on', 'null', '1e3', '0x10'])('%s', async (name) => {
      const objects = await render({
        values: {
          fullnameOverride: `a-${name}`,
          store: {
            type: 'etcd',
            etcd: { endpoints: ['https://etcd:1'], tls: { existingSecret: name }, auth: { existingSecret: name } },
          },
          secrets: { existingSecret: name, tokenKey: name },
          priorityClassName: name,
          imagePullSecrets: [name],
          commonLabels: { team: name },
          podAnnotations: { a: name },
        },
      });
      const text = JSON.stringify(ofKind(objects, 'Deployment'));
      expect(text.split(`"secretName":"${name}"`)).toHaveLength(4);
      for (const field of ['priorityClassName', 'key', 'name', 'team', 'a'])
        expect(text).toContain(`"${field}":"${name}"`);
    });
  });
});

describeWithHelm('helm lint', () => {
  test.each([['helm3'], ['helm4']] as const)('finds nothing, by %s', async (tool) => {
    const said = await command(toolPath(tool), ['lint', CHART, '--strict', '--kube-version', KUBE_VERSION]);
    expect(said).toContain('1 chart(s) linted, 0 chart(s) failed');
    expect(said).not.toMatch(/\[(?:WARNING|ERROR)\]/);
  });
});
