import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cataloguedLabels, cataloguedSeries } from '../support/monitoring/metrics-catalogue.ts';
import { findPrometheus, NO_PROMETHEUS } from '../support/monitoring/prometheus-binary.ts';
import { AlertTests, promtool, promtoolSucceeds } from '../support/monitoring/promtool.ts';
import { alerts, records, ruleFiles } from '../support/monitoring/rules.ts';
import { ALERT_CASES } from './alert-cases/all.ts';
import type { Labels, Situation } from './alert-cases/case.ts';
import { COURSES } from './alert-cases/ends.ts';

const SETUP_MS = 240_000;
const binaries = findPrometheus();
if (!binaries) process.stdout.write(`The tests on Prometheus are skipped: ${NO_PROMETHEUS}\n`);
describe.skipIf(!binaries)('promtool', () => {
  const files = new AlertTests();
  /** promtool is asked about all situations at once: its start costs more than most of them. */
  let allPass: boolean;
  beforeAll(async () => {
    const situations = Object.entries(ALERT_CASES).flatMap(([name, { fires, alsoFires = [], labels, quiet }]) => [
      ...[fires, ...alsoFires].map((situation) => files.file(name, situation, [situation.labels ?? labels])),
      ...quiet.map((situation) => files.file(name, situation, [])),
    ]);
    const courses = Object.keys(COURSES).flatMap((name) => courseFiles(name));
    allPass = await promtoolSucceeds('test', 'rules', ...situations, ...courses);
  }, SETUP_MS);
  afterAll(() => files[Symbol.dispose]());

  /** Asks for this one alone where not all of them passed, to tell which. */
  const passes = async (name: string, situation: Situation, ...fires: Labels[]): Promise<void> => {
    if (!allPass) expect(await promtool('test', 'rules', files.file(name, situation, fires))).toContain('SUCCESS');
  };

  /** One file in which it fires, and one in which it has ended, of the same series. */
  function courseFiles(name: string): readonly string[] {
    const course = COURSES[name] ?? expect.unreachable(name);
    const labels = ALERT_CASES[name]?.labels ?? {};
    return [files.file(name, { ...course, at: course.fires }, [labels]), files.file(name, course, [])];
  }

  test('takes every file', async () => {
    const said = await promtool('check', 'rules', ...ruleFiles.map(({ path }) => path));
    expect(said.match(/SUCCESS/g)).toHaveLength(ruleFiles.length);
  });

  describe.each(Object.entries(ALERT_CASES))('%s', (name, { fires, alsoFires = [], labels, quiet }) => {
    test.each([fires, ...alsoFires])('fires: $why', { timeout: SETUP_MS }, async (situation) => {
      await passes(name, situation, situation.labels ?? labels);
    });
    test('fires, and ends with its fault', { timeout: SETUP_MS }, async () => {
      if (allPass) return;
      for (const file of courseFiles(name)) expect(await promtool('test', 'rules', file)).toContain('SUCCESS');
    });
    test.each(quiet)('does not: $why', { timeout: SETUP_MS }, async (situation) => {
      await passes(name, situation);
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

const nameOf = (rule: (typeof alerts)[number] | (typeof records)[number]): string =>
  'alert' in rule ? rule.alert : rule.record;

describe.each(alerts)('$alert', ({ alert, labels, annotations }) => {
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
});

/** Lists of labels that name no cluster, namespace and job, by the rule that has them. */
const LISTS_OF_THEIR_OWN: Readonly<Record<string, readonly string[]>> = {
  // `absent` has no label but those of its selector, so it cannot be matched by them.
  MusterDown: ['on ()'],
};

describe.each([...alerts, ...records].map((rule) => [nameOf(rule), rule.expr] as const))('%s', (name, expr) => {
  test('keeps installations apart by cluster, namespace and job, wherever it leaves labels out', () => {
    const lists = [...expr.matchAll(/\b(?:by|on|ignoring|without|group_left|group_right)\s*\([^)]*\)/g)].map(String);
    const others = lists.filter((list) => !/^(?:by|on) \(cluster, namespace, job\b/.test(list));
    expect(others).toEqual(LISTS_OF_THEIR_OWN[name] ?? []);
    const everything = /\b(?:sum|min|max|avg|count|group|quantile|stddev|stdvar|topk|bottomk|count_values)\s*\(/g;
    expect(expr.match(everything)).toBeNull();
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
