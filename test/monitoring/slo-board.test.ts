import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sloBoard } from '../../deploy/dashboards/slo-board.ts';
import { findPrometheus } from '../support/monitoring/prometheus-binary.ts';
import { ruleFiles } from '../support/monitoring/rules.ts';

/* The numbers of the board of objectives, by promtool: what routes spend adds up to what the alerts judge. */

const REJECTED = 'muster_http_rejected_total{job="muster",instance="a",listener="api"';

function requests(values: string, labels: string, withinValues?: string): Record<string, string> {
  const [name, own] = ['muster_http_request_duration_seconds', `job="muster",instance="a",${labels}`];
  return {
    [`${name}_count{${own}}`]: values,
    ...(withinValues !== undefined && { [`${name}_bucket{${own},le="0.25"}`]: withinValues }),
  };
}

/**
 * Each minute 200 requests of `api` count: 6 fail and 1 is rejected. Of its 100 answers 20 are slow. An account at its
 * quota, what one address sends above its own bound, and held polls spend nothing.
 */
const SERIES: Readonly<Record<string, string>> = {
  ...requests('0+60x60', 'listener="api",method="GET",route="/v1/apps",status="200",code=""', '0+45x60'),
  ...requests('0+40x60', 'listener="api",method="GET",route="/v1/otel-config",status="304",code=""', '0+35x60'),
  ...requests('0+90x60', 'listener="api",method="GET",route="/v1/apps",status="401",code="invalid_key"', '0+90x60'),
  ...requests('0+4x60', 'listener="api",method="POST",route="/v1/apps",status="502",code="upstream_unavailable"'),
  ...requests('0+2x60', 'listener="api",method="GET",route="/v1/apps",status="502",code="upstream_unavailable"'),
  ...requests('0+3x60', 'listener="api",method="POST",route="/v1/apps",status="502",code="quota"'),
  ...requests(
    '0+10x60',
    'listener="device",method="GET",route="/device/v1/config (held)",status="304",code=""',
    '0+0x60',
  ),
  [`${REJECTED},why="request_bound"}`]: '0+1x60',
  [`${REJECTED},why="address_bound"}`]: '0+50x60',
};

const API = '{listener="api"}';
const DEVICE = '{listener="device"}';
const by = (route: string, method: string, more = ''): string =>
  `{${more}listener="api",method="${method}",route="${route}"}`;
const UNAVAILABLE = 'code="upstream_unavailable",';

/** The series that each query of a panel finds, by the title of the panel. */
const FINDS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'Error budget left of 30 days': { [API]: 1 - 35, [DEVICE]: 1 },
  'Latency budget left of 30 days': { [API]: 1 - 20 },
  'Error budget, fast burn': { [API]: 35 },
  'Error budget, slow burn': { [API]: 35 },
  'Latency budget, fast burn': { [API]: 20 },
  'Latency budget, slow burn': { [API]: 20 },
  'Error budget spent, by route': {
    [by('/v1/apps', 'POST', UNAVAILABLE)]: 20,
    [by('/v1/apps', 'GET', UNAVAILABLE)]: 10,
  },
  'Error budget spent by rejections': { '{listener="api",why="request_bound"}': 5 },
  'Latency budget spent, by route': { [by('/v1/apps', 'GET')]: 15, [by('/v1/otel-config', 'GET')]: 5 },
};
const TABLE: readonly Readonly<Record<string, number>>[] = [
  { '{route="/v1/apps"}': 159, '{route="/v1/otel-config"}': 40, '{route="/device/v1/config (held)"}': 10 },
  { '{route="/v1/apps"}': 6 },
  { '{route="/v1/apps"}': 15, '{route="/v1/otel-config"}': 5 },
];

/** The query of a panel, with All chosen. */
const shown = (expr: string): string =>
  expr.replaceAll(/\$(?:cluster|namespace|job|instance)\b/g, '.*').replaceAll('[30d:1h]', '[20m:1m]');

const binaries = findPrometheus();

/** Judges by promtool what an expression finds after 50 minutes; rounded, since promtool compares to the last bit. */
function judged(queries: readonly (readonly [expr: string, finds: Readonly<Record<string, number>>])[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'muster-slo-'));
  const file = join(folder, 'test.yaml');
  const rules = ruleFiles.filter(({ name }) => name === 'slo-recording.yaml').map(({ path }) => path);
  const one = {
    interval: '1m',
    input_series: Object.entries(SERIES).map(([series, values]) => ({ series, values })),
    promql_expr_test: queries.map(([expr, finds]) => ({
      expr: `round(${shown(expr)})`,
      eval_time: '50m',
      exp_samples: Object.entries(finds).map(([labels, value]) => ({ labels, value })),
    })),
  };
  writeFileSync(file, JSON.stringify({ rule_files: rules, evaluation_interval: '1m', tests: [one] }));
  try {
    return execFileSync(binaries?.promtool ?? '', ['test', 'rules', file], { encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    return String(error);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe.skipIf(!binaries)('the board of objectives', () => {
  const panels = new Map(sloBoard.rows.flatMap(({ panels }) => panels.map((panel) => [panel.title, panel.targets])));

  test.each(Object.entries(FINDS))('%s', (title, finds) => {
    const targets = panels.get(title) ?? [];
    expect(targets).not.toEqual([]);
    expect(judged(targets.map(({ expr }) => [expr, finds]))).toContain('SUCCESS');
  });

  test('a table of six hours has all requests, those that failed and those that were slow', () => {
    const expressions = (panels.get('Spent within 6 hours, by route') ?? []).map(({ expr }) => expr);
    expect(expressions).toHaveLength(TABLE.length);
    // Within the 50 minutes that there are.
    const perMinute = expressions.map((expr, index) => [`(${expr}) / 50`, TABLE[index] ?? {}] as const);
    expect(judged(perMinute)).toContain('SUCCESS');
  });
});
