import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cataloguedLabels, cataloguedSeries } from '../support/monitoring/metrics-catalogue.ts';
import { findPrometheus, NO_PROMETHEUS } from '../support/monitoring/prometheus-binary.ts';
import { alerts, records, ruleFiles } from '../support/monitoring/rules.ts';
import { ALERT_CASES } from './alert-cases/all.ts';
import type { Situation } from './alert-cases/case.ts';
import { COURSES } from './alert-cases/ends.ts';

const binaries = findPrometheus();
if (!binaries) process.stdout.write(`The tests on Prometheus are skipped: ${NO_PROMETHEUS}\n`);
const promtool = (...args: string[]): string =>
  execFileSync(binaries?.promtool ?? 'promtool', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** The alerts of that name that fire in a situation, by promtool. */
function told(alertname: string, { series, at, step = '1m' }: Situation, fires: readonly object[]): object {
  return {
    interval: step,
    input_series: Object.entries(series).map(([name, values]) => ({
      series: name.includes('job=') ? name : name.replace('{', '{job="muster",'),
      values,
    })),
    alert_rule_test: [{ eval_time: at, alertname, exp_alerts: fires }],
  };
}

function succeeds(...args: string[]): boolean {
  try {
    return !promtool(...args).includes('FAILED');
  } catch {
    return false;
  }
}

const reads = (expr: string, name: string): boolean => new RegExp(`${name}(?!\\w)`).test(expr);

describe.skipIf(!binaries)('promtool', () => {
  let folder: string;
  /** promtool is asked about all situations at once: its start costs more than most of them. */
  let allPass: boolean;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'muster-rules-'));
    const files = Object.entries(ALERT_CASES).flatMap(([name, { fires, alsoFires = [], labels, quiet }]) => [
      ...[fires, ...alsoFires].map((situation) => testFile(name, situation, [expected(name, labels)])),
      ...quiet.map((situation) => testFile(name, situation, [])),
    ]);
    const courses = Object.keys(COURSES).flatMap((name) => courseFiles(name));
    allPass = succeeds('test', 'rules', ...files, ...courses);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** The alert and what it reads, without its annotations: promtool compares these to the letter. */
  const rulesOf = (name: string): object => {
    const { annotations: _words, ...alert } = alerts.find((rule) => rule.alert === name) ?? { annotations: {} };
    const read = records.filter(({ record }) => 'expr' in alert && reads(alert.expr, record));
    const further = records.filter(({ record }) => read.some(({ expr }) => reads(expr, record)));
    return { groups: [{ name, rules: [...new Set([...further, ...read]), alert] }] };
  };

  const expected = (name: string, labels: Readonly<Record<string, string>>): object => {
    const severity = alerts.find(({ alert }) => alert === name)?.labels.severity ?? '';
    return { exp_labels: { severity, ...labels } };
  };

  let files = 0;
  function testFile(name: string, situation: Situation, fires: readonly object[]): string {
    const [rules, file] = [join(folder, `${name}-rules.yaml`), join(folder, `${(files += 1)}.yaml`)];
    writeFileSync(rules, JSON.stringify(rulesOf(name)));
    const tests = [told(name, situation, fires)];
    writeFileSync(file, JSON.stringify({ rule_files: [rules], evaluation_interval: situation.step ?? '1m', tests }));
    return file;
  }

  /** Asks for this one alone where not all of them passed, to tell which. */
  const passes = (name: string, situation: Situation, fires: readonly object[]): void => {
    if (!allPass) expect(promtool('test', 'rules', testFile(name, situation, fires))).toContain('SUCCESS');
  };

  /** One file in which it fires, and one in which it has ended, of the same series. */
  function courseFiles(name: string): readonly string[] {
    const course = { why: 'the whole of a fault', ...(COURSES[name] ?? expect.unreachable(name)) };
    const labels = ALERT_CASES[name]?.labels ?? {};
    return [testFile(name, { ...course, at: course.fires }, [expected(name, labels)]), testFile(name, course, [])];
  }

  test('takes every file', () => {
    const said = promtool('check', 'rules', ...ruleFiles.map(({ path }) => path));
    expect(said.match(/SUCCESS/g)).toHaveLength(ruleFiles.length);
  });

  describe.each(Object.entries(ALERT_CASES))('%s', (name, { fires, alsoFires = [], labels, quiet }) => {
    test.each([fires, ...alsoFires])('fires: $why', { timeout: 240_000 }, (situation) => {
      passes(name, situation, [expected(name, labels)]);
    });
    test('fires, and ends with its fault', { timeout: 240_000 }, () => {
      if (allPass) return;
      for (const file of courseFiles(name)) expect(promtool('test', 'rules', file)).toContain('SUCCESS');
    });
    test.each(quiet)('does not: $why', { timeout: 240_000 }, (situation) => {
      passes(name, situation, []);
    });
  });
});

test('every alert has a course in which it fires and ends', () => {
  expect(Object.keys(COURSES).toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
});

test('every alert has a situation in which it fires and one in which it does not', () => {
  expect(alerts.length).toBeGreaterThan(20);
  expect(Object.keys(ALERT_CASES).toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
  expect(Object.values(ALERT_CASES).filter(({ quiet }) => quiet.length === 0)).toEqual([]);
});

describe.each(alerts)('$alert', ({ alert, labels, annotations, expr }) => {
  test('says how bad it is, and where the runbook has it', () => {
    expect(alert).toMatch(/^Muster[A-Z]\w+$/);
    expect(['critical', 'warning', 'info']).toContain(labels.severity);
    expect(annotations.summary).toMatch(/^.{20,120}\.$/);
    expect(annotations.description.length).toBeGreaterThan(annotations.summary.length);
    expect(annotations.runbook_url).toBe(`https://muster.dev/docs/runbook#${alert.toLowerCase()}`);
  });

  test('names only labels that it has, and functions that there are', () => {
    const has = new Set(['severity', ...Object.keys(ALERT_CASES[alert]?.labels ?? {})]);
    const templates = [...`${annotations.summary} ${annotations.description}`.matchAll(/\{\{(.*?)\}\}/g)];
    for (const [, text = ''] of templates) {
      const label = /^ \$labels\.(\w+) $/.exec(text)?.[1];
      if (label === undefined) expect(text).toMatch(/^ \$value(?: \| humanize(?:Percentage|Duration)?)? $/);
      else expect(has).toContain(label);
    }
  });

  test('tells replicas of one installation from those of another', () => {
    expect(expr.match(/\bby \((?!(?:cluster, )?namespace, job)/g)).toBeNull();
    expect(expr.match(/\bon \((?!(?:cluster, )?namespace, job)/g)).toBeNull();
  });
});

describe('expressions', () => {
  const catalogue = new Map(cataloguedSeries().map((series) => [series.name, series]));
  const recorded = new Set(records.map(({ record }) => record));
  const labelSets = cataloguedLabels();
  const expressions = [...alerts, ...records].map(({ expr }) => expr);

  test('read only series that exist', () => {
    const names = expressions.flatMap((expr) => expr.match(/\b(?:muster|process|nodejs)[a-z_]*[:_][a-z_:]+\w*/g) ?? []);
    const base = (name: string): string => name.replace(/_(?:bucket|count|sum)$/, '');
    expect(new Set(names).size).toBeGreaterThan(25);
    const unknown = names.filter((name) => !recorded.has(name) && !catalogue.has(name) && !catalogue.has(base(name)));
    expect(unknown).toEqual([]);
  });

  test('name only label values that exist', () => {
    const selectors = expressions.flatMap((expr) => [...expr.matchAll(/(muster_\w+)\{([^}]*)\}/g)]);
    const matchers = selectors.flatMap(([, name = '', text = '']) =>
      [...text.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)].map(([, label, operator = '', value = '']) => {
        const set = labelSets.find(
          ({ label: known, series }) => known === label && series.some((series) => name.startsWith(series)),
        );
        return { label, operator, value, values: set?.values ?? [] };
      }),
    );
    expect(matchers.length).toBeGreaterThan(20);
    for (const { label, operator, value, values } of matchers) {
      if (label === 'le') continue;
      if (operator.endsWith('=')) expect(values).toContain(value);
      // Each alternative stands for something that there is.
      else
        for (const part of value.split('|')) {
          const matching = values.filter((known) => new RegExp(`^(?:${part})$`).test(known));
          expect(matching, `${label}${operator}${part}`).not.toEqual([]);
        }
    }
  });
});

describe('recording rules', () => {
  const windowOf = (record: string): string => /:rate(\w+)$/.exec(record)?.[1] ?? '';

  test('have a name that says their window', () => {
    for (const { record } of records) expect(record).toMatch(/^muster:[a-z_]+:rate\d+[mhd]$/);
  });

  test('of one name differ in their windows alone', () => {
    const byName = Map.groupBy(records, ({ record }) => record.slice(0, -windowOf(record).length));
    expect([...byName.keys()].toSorted()).toEqual([
      'muster:answers:rate',
      'muster:errors:rate',
      'muster:requests:rate',
      'muster:slow:rate',
    ]);
    for (const [name, rules] of byName) {
      expect(rules.map(({ record }) => windowOf(record))).toEqual(['5m', '30m', '1h', '2h', '6h', '1d', '3d']);
      const texts = rules.map(({ record, expr }) =>
        expr.replaceAll(`[${windowOf(record)}]`, '[W]').replaceAll(`:rate${windowOf(record)}`, ':rateW'),
      );
      expect(new Set(texts).size, `of ${name}`).toBe(1);
    }
  });
});
