import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { at, CHART, describeWithHelm, listAt, ofKind, one, parse, render, type KubeObject } from './support/render.ts';

/* The clients of Muster: monitors, rules and boards, Ingress and routes. */

const names = (objects: readonly KubeObject[], kind: string): string[] =>
  ofKind(objects, kind).map(({ metadata }) => metadata.name);
const filesOf = (folder: string, ending: string): string[] =>
  readdirSync(join(CHART, 'files'), { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.startsWith(`${folder}/`) && path.endsWith(ending),
  );

describeWithHelm('monitoring', () => {
  let chart: string;
  beforeAll(() => {
    chart = mkdtempSync(join(tmpdir(), 'muster-chart-'));
    cpSync(CHART, chart, { recursive: true });
    for (const folder of ['rules', 'dashboards']) mkdirSync(join(chart, 'files', folder), { recursive: true });
    const rule = { alert: 'A', expr: 'up == 0', annotations: { summary: '{{ $labels.pod }} is down' } };
    writeFileSync(join(chart, 'files/rules/trial.yaml'), JSON.stringify({ groups: [{ name: 'g', rules: [rule] }] }));
    writeFileSync(join(chart, 'files/dashboards/trial.json'), '{"title": "{{ pod }}"}\n');
  });
  afterAll(() => rmSync(chart, { recursive: true }));

  const all = { prometheusRule: { enabled: true, labels: { release: 'x' } }, dashboards: { enabled: true } };

  test('rules and dashboards are the files, whatever braces stand in them', async () => {
    const objects = await render({ chart, values: { metrics: all } });
    const rule = one(objects, 'PrometheusRule', 'muster-trial');
    expect(rule.metadata.labels).toMatchObject({ release: 'x' });
    expect(at(rule, 'spec', 'groups', 0, 'rules', 0, 'annotations', 'summary')).toBe('{{ $labels.pod }} is down');
    const dashboard = one(objects, 'ConfigMap', 'muster-dashboard-trial');
    expect(at(dashboard, 'data', 'fleet-muster-trial.json')).toBe('{"title": "{{ pod }}"}');
    expect(dashboard.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
  });

  test('every file of the chart is there, and none where it is not wanted', async () => {
    const objects = await render({ values: { metrics: all } });
    expect(names(objects, 'PrometheusRule')).toHaveLength(filesOf('rules', '.yaml').length);
    expect(names(objects, 'ConfigMap')).toHaveLength(filesOf('dashboards', '.json').length);
    const none = await render();
    expect([...names(none, 'PrometheusRule'), ...names(none, 'ConfigMap')]).toEqual([]);
  });

  const podMonitor = { enabled: true };
  test.each([
    ['a PodMonitor', { podMonitor }, 'namespace="fleet",job="fleet/muster"'],
    [
      'a PodMonitor elsewhere',
      { podMonitor: { ...podMonitor, namespace: 'mon' } },
      'namespace="fleet",job="fleet/muster"',
    ],
    ['a ServiceMonitor', { serviceMonitor: { enabled: true } }, 'namespace="fleet",job="muster-ops"'],
    ['one that sets labels', { podMonitor: { ...podMonitor, relabelings: [{ targetLabel: 'job' }] } }, ''],
    ['something else', {}, ''],
  ])(
    'a release that is scraped by %s is missed by the labels that Prometheus gives it',
    async (_, monitors, labels) => {
      const objects = await render({ values: { metrics: { prometheusRule: { enabled: true }, ...monitors } } });
      const [down] = listAt(one(objects, 'PrometheusRule', 'muster-replicas'), 'spec', 'groups').flatMap((group) =>
        listAt(group, 'rules').filter((rule) => at(rule, 'alert') === 'MusterDown'),
      );
      const expr = String(at(down, 'expr'));
      expect(expr).toContain(`absent(muster_build_info{${labels}})`);
      expect(expr.match(/\w+\{[^}]*\}/g)?.filter((selector) => !selector.startsWith('ALERTS'))).toEqual([
        `muster_build_info{${labels}}`,
        `muster_build_info{${labels}}`,
        `up{${labels}}`,
      ]);
    },
  );

  test('an AlertmanagerConfig has the rules of the file, and is there where it is wanted alone', async () => {
    const [file] = parse(`kind: File\n${readFileSync(join(CHART, 'files/alertmanager/inhibit-rules.yaml'), 'utf8')}`);
    const written = listAt(file, 'inhibit_rules');
    const values = { metrics: { alertmanagerConfig: { enabled: true, labels: { alertmanager: 'main' } } } };
    const config = one(await render({ values }), 'AlertmanagerConfig', 'muster');
    expect(config.metadata.labels).toMatchObject({ alertmanager: 'main' });
    const matchers = (rule: unknown, side: string): string[] =>
      listAt(rule, side).map((each) => {
        const type = String(at(each, 'matchType'));
        const value = String(at(each, 'value'));
        return `${String(at(each, 'name'))} ${type} ${type === '=~' ? `"${value}"` : value}`;
      });
    const rules = listAt(config, 'spec', 'inhibitRules');
    expect(
      rules.map((rule) => ({
        source_matchers: matchers(rule, 'sourceMatch'),
        target_matchers: matchers(rule, 'targetMatch'),
        equal: listAt(rule, 'equal'),
      })),
    ).toEqual(written);
    expect(names(await render(), 'AlertmanagerConfig')).toEqual([]);
  });

  test.each([
    ['podMonitor', 'PodMonitor', 'podMetricsEndpoints', 'muster.dev/ops'],
    ['serviceMonitor', 'ServiceMonitor', 'endpoints', 'app.kubernetes.io/component'],
  ])('a %s scrapes the ops listener', async (name, kind, endpoints, label) => {
    const monitor = one(
      await render({ values: { metrics: { [name]: { enabled: true, interval: '15s' } } } }),
      kind,
      'muster',
    );
    expect(listAt(monitor, 'spec', endpoints)).toEqual([
      { port: 'ops', path: '/metrics', interval: '15s', scrapeTimeout: '10s' },
    ]);
    expect(at(monitor, 'spec', 'selector', 'matchLabels', label)).toBe(kind === 'PodMonitor' ? 'true' : 'ops');
  });

  test.each([
    ['podMonitor', 'PodMonitor', 'podMetricsEndpoints', [{ targetLabel: 'job', replacement: 'fleet/muster' }]],
    ['serviceMonitor', 'ServiceMonitor', 'endpoints', []],
  ])('a %s elsewhere leaves the job its name, but for what the user says', async (name, kind, endpoints, own) => {
    const relabelings = [{ targetLabel: 'job', replacement: 'mine' }];
    const values = { metrics: { [name]: { enabled: true, namespace: 'mon', relabelings } } };
    const monitor = one(await render({ values }), kind, 'fleet-muster');
    expect(listAt(monitor, 'spec', endpoints, 0, 'relabelings')).toEqual([...own, ...relabelings]);
  });
});

describeWithHelm('the way in', () => {
  const tls = { api: { existingSecret: 'a' }, device: { existingSecret: 'd' } };

  test('an Ingress for one listener leaves the other alone', async () => {
    const values = {
      ingress: { device: { enabled: true, className: 'public', hosts: ['d.example'], tls: [{ secretName: 's' }] } },
    };
    const objects = await render({ values });
    expect(names(objects, 'Ingress')).toEqual(['muster-device']);
    expect(at(one(objects, 'Ingress', 'muster-device'), 'spec')).toMatchObject({
      ingressClassName: 'public',
      tls: [{ secretName: 's' }],
      rules: [
        {
          host: 'd.example',
          http: { paths: [{ path: '/', backend: { service: { name: 'muster-device', port: { name: 'device' } } } }] },
        },
      ],
    });
  });

  test('routes of the Gateway API: HTTP where TLS ends before, TLS where it ends in the pod', async () => {
    const parentRefs = [{ name: 'public', namespace: 'gateways' }];
    const gateway = {
      api: { enabled: true, parentRefs, timeouts: { request: '10s' } },
      device: { enabled: true, kind: 'TLSRoute', parentRefs, hostnames: ['d.example'], timeouts: { request: '70s' } },
    };
    const objects = await render({ values: { gateway, tls } });
    expect(at(one(objects, 'HTTPRoute', 'muster-api'), 'spec')).toEqual({
      parentRefs,
      rules: [{ backendRefs: [{ name: 'muster-api', port: 8080 }], timeouts: { request: '10s' } }],
    });
    const route = one(objects, 'TLSRoute', 'muster-device');
    expect(at(route, 'spec')).toEqual({
      parentRefs,
      hostnames: ['d.example'],
      rules: [{ backendRefs: [{ name: 'muster-device', port: 8081 }] }],
    });
    expect(route.apiVersion).toBe('gateway.networking.k8s.io/v1alpha3');
  });

  test.each([
    [['v1alpha2/TLSRoute', 'v1/HTTPRoute'], 'v1', 'v1alpha2'],
    [['v1alpha2/TLSRoute', 'v1alpha3/TLSRoute', 'v1beta1/HTTPRoute'], 'v1beta1', 'v1alpha3'],
    [['v1alpha3/TLSRoute', 'v1/TLSRoute', 'v1/HTTPRoute', 'v1beta1/HTTPRoute'], 'v1', 'v1'],
    [[], 'v1', 'v1alpha3'],
  ])('a cluster that serves %j has routes of %s and %s', async (served, ofHttp, ofTls) => {
    const parentRefs = [{ name: 'public' }];
    const gateway = {
      api: { enabled: true, parentRefs },
      device: { enabled: true, kind: 'TLSRoute', parentRefs, hostnames: ['d.example'] },
    };
    const apiVersions = served.map((each) => `gateway.networking.k8s.io/${each}`);
    for (const helm of [3, 4] as const) {
      const objects = await render({ helm, values: { gateway, tls }, apiVersions });
      const routes = [one(objects, 'HTTPRoute', 'muster-api'), one(objects, 'TLSRoute', 'muster-device')];
      expect(routes.map(({ apiVersion }) => apiVersion.split('/')[1])).toEqual([ofHttp, ofTls]);
    }
  });
});
