import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dumpYaml, loadYaml } from '@kubernetes/client-node';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { AlertTests, promtool } from '../support/monitoring/promtool.ts';
import { alerts, ruleFiles } from '../support/monitoring/rules.ts';
import {
  at,
  describeWithHelm,
  listAt,
  ofKind,
  ON_ETCD,
  one,
  render,
  ROOT,
  type KubeObject,
  type Values,
} from './support/render.ts';

/* An installation tunes the chart's rules and boards without a copy of them. */

const rendered = (prometheusRule: Values, more: Values = {}): Promise<KubeObject[]> =>
  render({
    values: {
      ...more,
      metrics: { prometheusRule: { enabled: true, ...prometheusRule }, alertmanagerConfig: { enabled: true } },
    },
  });
const groupsOf = (objects: readonly KubeObject[]): unknown[] =>
  ofKind(objects, 'PrometheusRule').flatMap((object) => listAt(object, 'spec', 'groups'));
const rulesOf = (objects: readonly KubeObject[]): unknown[] =>
  groupsOf(objects).flatMap((group) => listAt(group, 'rules'));
const alertOf = (objects: readonly KubeObject[], name: string): unknown =>
  rulesOf(objects).find((rule) => at(rule, 'alert') === name);
const written = (name: string): (typeof alerts)[number] | undefined => alerts.find(({ alert }) => alert === name);

/** Prometheus' own reading. @throws with its words */
function promtoolChecks(groups: readonly unknown[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'muster-rules-'));
  try {
    writeFileSync(join(folder, 'rules.yaml'), dumpYaml({ groups }));
    execFileSync('promtool', ['check', 'rules', join(folder, 'rules.yaml')], { stdio: 'pipe' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describeWithHelm('rules', () => {
  test('are those of the files where nothing is said', async () => {
    const byName = (groups: readonly unknown[]): unknown[] =>
      groups.toSorted((a, b) => String(at(a, 'name')).localeCompare(String(at(b, 'name'))));
    expect(byName(groupsOf(await rendered({})))).toEqual(byName(ruleFiles.flatMap(({ groups }) => groups)));
  });

  test('have one of them left out, and another one tuned: duration, severity and threshold', async () => {
    const rules = {
      MusterVersionsDiffer: { enabled: false },
      MusterEventLoopBusy: { for: '30m', severity: 'critical', threshold: 1.5 },
      MusterBackupOld: { threshold: 172800 },
      MusterRestarting: { for: '1m' },
    };
    const objects = await rendered({ rules });
    expect(alertOf(objects, 'MusterVersionsDiffer')).toBeUndefined();
    expect(rulesOf(objects)).toHaveLength(
      ruleFiles.flatMap(({ groups }) => groups.flatMap((each) => each.rules)).length - 1,
    );
    const busy = written('MusterEventLoopBusy');
    expect(alertOf(objects, 'MusterEventLoopBusy')).toEqual({
      ...busy,
      for: '30m',
      labels: { severity: 'critical' },
      expr: busy?.expr.replace('> 0.25', '> 1.5'),
    });
    expect(at(alertOf(objects, 'MusterBackupOld'), 'expr')).toBe(
      written('MusterBackupOld')?.expr.replace('> 26 * 3600', '> 172800'),
    );
    expect(at(alertOf(objects, 'MusterRestarting'), 'for')).toBe('1m');
    promtoolChecks(groupsOf(objects));
  });

  test('compare with the threshold in place of one number, and with nothing else changed', async () => {
    const said = await rendered({ rules: { MusterDown: { threshold: 1 } } }).then(() => '', String);
    const names = (/These do: ([\w, ]+)/.exec(said)?.[1] ?? '').split(', ');
    expect(names.length).toBeGreaterThan(15);
    const rules = Object.fromEntries(names.map((name) => [name, { threshold: 4711 }]));
    const objects = await rendered({ rules });
    for (const name of names) {
      const [before, after, ...others] = String(at(alertOf(objects, name), 'expr')).split('4711');
      expect([
        others,
        written(name)?.expr.startsWith(before ?? ' '),
        written(name)?.expr.endsWith(after ?? ' '),
      ]).toEqual([[], true, true]);
    }
    promtoolChecks(groupsOf(objects));
  });

  test('are tuned as docs/OPERATIONS.md has it', async () => {
    const text = readFileSync(join(ROOT, 'docs/OPERATIONS.md'), 'utf8');
    const [, written = ''] = /```yaml\n(metrics:\n {2}prometheusRule:[\s\S]*?)```/.exec(text) ?? [];
    const objects = await render({ values: loadYaml<Values>(written) });
    expect(alertOf(objects, 'MusterVersionsDiffer')).toBeUndefined();
    expect(at(alertOf(objects, 'MusterEventLoopBusy'), 'expr')).toContain('> 0.5');
  });

  test('have labels, annotations and a runbook of the installation', async () => {
    const objects = await rendered({
      additionalRuleLabels: { team: 'platform' },
      additionalRuleAnnotations: { dashboard: 'https://grafana.example/d/muster' },
      runbookUrl: 'https://wiki.example/muster',
      rules: { MusterDown: { severity: 'warning' } },
    });
    const down = alertOf(objects, 'MusterDown');
    expect(at(down, 'labels')).toEqual({ severity: 'warning', team: 'platform' });
    expect(at(down, 'annotations')).toEqual({
      ...written('MusterDown')?.annotations,
      dashboard: 'https://grafana.example/d/muster',
      runbook_url: 'https://wiki.example/muster#musterdown',
    });
    for (const rule of rulesOf(objects)) {
      if (at(rule, 'record') !== undefined) expect(at(rule, 'labels')).toBeUndefined();
      else expect(at(rule, 'labels', 'team')).toBe('platform');
    }
  });

  test('and inhibitions go by further labels, and Prometheus takes them', async () => {
    const objects = await rendered({ additionalAggregationLabels: ['region', 'cell'] });
    const groupings = rulesOf(objects).flatMap((rule) => [
      ...String(at(rule, 'expr')).matchAll(/\b(?:by|on) \(([^)]+)\)/g),
    ]);
    expect(groupings.length).toBeGreaterThan(50);
    for (const [, labels = ''] of groupings) expect(labels).toMatch(/, region, cell$/);
    for (const rule of listAt(one(objects, 'AlertmanagerConfig', 'muster'), 'spec', 'inhibitRules')) {
      expect(listAt(rule, 'equal').slice(-2)).toEqual(['region', 'cell']);
    }
    promtoolChecks(groupsOf(objects));
  });
});

describeWithHelm('MusterDown where `absent`', () => {
  const PATIENT_MS = 240_000;
  const labels = { namespace: 'fleet', job: 'fleet/muster' };
  const series = (name: string, values: string): Values => ({
    series: `${name}{namespace="fleet",job="fleet/muster",instance="a"}`,
    values,
  });
  const others: Values = { series: 'up{job="others"}', values: '1x600' };
  const build = (values: string): Values => series('muster_build_info', values);
  const up = (values: string): Values => series('up', values);

  test.each<[absent: boolean, fires: boolean, why: string, at: string, ...series: Values[]]>([
    [true, true, 'Prometheus scrapes nothing at all', '5h'],
    [false, false, 'Prometheus scrapes nothing at all', '5h'],
    [true, true, 'it has scraped others alone, for days', '40h', others],
    [false, false, 'it has scraped others alone, for days', '40h', others],
    [true, true, 'the targets are gone', '5h', build('1x5 stale'), up('1x5 stale'), others],
    [false, false, 'the targets are gone, as to another shard', '5h', build('1x5 stale'), up('1x5 stale'), others],
    [false, true, 'no target answers', '5h', build('1x5 stale'), up('1x5 0x600')],
    [false, true, 'no target has answered for days', '90h', build('1x5 stale'), up('1x5 0x600')],
    [false, false, 'one answers', '5h', build('1x600'), up('1x600')],
  ])('is %j: %j where %s', { timeout: PATIENT_MS }, async (absent, fires, _, eval_time, ...input_series) => {
    const metrics = { podMonitor: { enabled: true }, prometheusRule: { enabled: true, absent } };
    const { expr } = z.object({ expr: z.string() }).parse(alertOf(await render({ values: { metrics } }), 'MusterDown'));
    using files = new AlertTests();
    const alert_rule_test = [{ eval_time, alertname: 'MusterDown', exp_alerts: fires ? [{ exp_labels: labels }] : [] }];
    const file = files.write({
      rule_files: [files.write({ groups: [{ name: 'down', rules: [{ alert: 'MusterDown', expr, for: '1m' }] }] })],
      evaluation_interval: '10m',
      tests: [{ interval: '10m', input_series, alert_rule_test }],
    });
    expect(await promtool('test', 'rules', file)).toContain('SUCCESS');
  });
});

describeWithHelm('the namespace', () => {
  test('of monitoring may be another one, where objects have a name of their release', async () => {
    const namespace = 'monitoring';
    const metrics = {
      serviceMonitor: { enabled: true, namespace },
      prometheusRule: { enabled: true, namespace },
      dashboards: { enabled: true, namespace },
    };
    const objects = await render({ values: { metrics } });
    const there = objects.filter(({ metadata }) => metadata.namespace === namespace);
    expect(new Set(there.map(({ kind }) => kind))).toEqual(new Set(['ServiceMonitor', 'PrometheusRule', 'ConfigMap']));
    for (const { metadata } of there) expect(metadata.name).toMatch(/^fleet-muster/);
    const monitor = one(objects, 'ServiceMonitor', 'fleet-muster');
    expect(at(monitor, 'spec', 'namespaceSelector', 'matchNames')).toEqual(['fleet']);
  });

  test('of all objects may be another one than that of the release', async () => {
    const values: Values = {
      ...ON_ETCD,
      namespaceOverride: 'elsewhere',
      crds: { keep: false },
      secrets: { keep: false },
      operator: { watchReleaseNamespace: true },
      metrics: { serviceMonitor: { enabled: true }, dashboards: { enabled: true } },
    };
    const objects = await render({ values, namespace: 'of-the-release' });
    expect(JSON.stringify(objects)).not.toContain('of-the-release');
    expect(JSON.stringify(objects)).toContain('"elsewhere:muster-operator"');
    const elsewhere = objects.filter(({ metadata }) => metadata.namespace !== undefined);
    expect(new Set(elsewhere.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['elsewhere']));
  });
});

describeWithHelm('the boards of two releases', () => {
  test('have nothing in common by which Grafana goes', async () => {
    const boards = async (namespace: string): Promise<readonly (readonly [file: string, board: unknown])[]> => {
      const objects = await render({ namespace, values: { metrics: { dashboards: { enabled: true } } } });
      return ofKind(objects, 'ConfigMap').flatMap((each) =>
        Object.entries(at(each, 'data') as Record<string, string>).map(
          ([file, text]) => [file, loadYaml<unknown>(text)] as const,
        ),
      );
    };
    const [first, second] = [await boards('fleet'), await boards('fleet-too')];
    const seen = (all: Awaited<ReturnType<typeof boards>>): string[] =>
      all.flatMap(([file, board]) => [file, String(at(board, 'uid')), String(at(board, 'title'))]);
    expect(first.length).toBeGreaterThan(4);
    expect(seen(first).filter((each) => seen(second).includes(each))).toEqual([]);
    expect(new Set(seen(first)).size).toBe(3 * first.length);
    for (const each of seen(first)) expect(each.length).toBeLessThan(64);
  });
});
