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
