import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { metricsSections } from '../../scripts/metrics-document.ts';
import { createMetrics } from '../../src/metrics/service-metrics.ts';
import { cataloguedLabels, cataloguedSeries } from '../support/monitoring/metrics-catalogue.ts';

/* docs/METRICS.md is made from the instruments: it has what they have, and they keep the conventions of Prometheus. */

const ROOT = resolve(import.meta.dirname, '../..');
const catalogue = cataloguedSeries();
const own = catalogue.filter(({ name }) => name.startsWith('muster_'));
const labelSets = cataloguedLabels();

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path, text: readFileSync(join(ROOT, 'src', path), 'utf8') }));

test('every series of the registry is in a section, once', () => {
  const registered = createMetrics('0.0.0').registry.getMetricsAsArray();
  const names = catalogue.map(({ name }) => name);
  expect(own.length).toBeGreaterThan(40);
  expect(names.toSorted()).toEqual(registered.map(({ name }) => name).toSorted());
});

test('every section has a series', () => {
  expect(metricsSections().filter(({ series }) => series.length === 0)).toEqual([]);
});

test('a series has a help text and a unit', () => {
  const incomplete = catalogue.filter(({ help, unit }) => !/^[A-Z0-9].*\.$/.test(help) || unit === '');
  expect(incomplete).toEqual([]);
});

test.each([
  [/_seconds(?:_total)?$/, 'seconds'],
  [/_bytes(?:_total)?$/, 'bytes'],
  [/_ratio$/, 'ratio'],
])('a name that matches %s is in %s', (pattern, unit) => {
  const named = catalogue.filter(({ name }) => pattern.test(name));
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((series) => series.unit !== unit)).toEqual([]);
});

test('only a counter ends in _total', () => {
  const misnamed = own.filter(({ name, type }) => (type === 'counter') !== name.endsWith('_total'));
  expect(misnamed.map(({ name }) => name)).toEqual([]);
});

/** They read series that a service exposes, as a scrape does, and declare none. */
const READERS: ReadonlySet<string> = new Set(['cli/commands/service/status.ts', 'cli/connection/told.ts']);

test('a series is named once, where it is declared, but by readers of the exposition', () => {
  const names = new Set(own.map(({ name }) => name));
  const others = sources.filter(({ path }) => !READERS.has(path));
  const named = others.flatMap(({ text }) =>
    [...text.matchAll(/(name: )?'(muster_[a-z_]+)'/g)]
      .filter(([, , name = '']) => names.has(name))
      .map(([, declared = '', name]) => `${declared}${name}`),
  );
  expect(named.toSorted()).toEqual([...names].map((name) => `name: ${name}`).sort());
  const readers = sources.filter(({ path }) => READERS.has(path));
  const read = readers.flatMap(({ text }) => [...text.matchAll(/'(muster_[a-z_]+)'/g)].map(([, name = '']) => name));
  expect(readers).toHaveLength(READERS.size);
  expect(read.filter((name) => !names.has(name))).toEqual([]);
});

describe('labels', () => {
  const valuesOf = (label: string): string[] => [
    ...new Set(labelSets.filter((set) => set.label === label).flatMap(({ values }) => values)),
  ];

  test('every label has a closed set, but those of muster_build_info, and the ids of limited accounts', () => {
    const labels = own.flatMap(({ name, labels }) =>
      Object.entries(labels).map(([label, values]) => ({ label, name, values })),
    );
    const open = labels.filter(({ values }) => values.length === 0);
    expect(open.map(({ label, name }) => `${label} of ${name}`)).toEqual([
      'version of muster_build_info',
      'node of muster_build_info',
      'account of muster_rate_limit_top_fill_ratio',
      'account of muster_rate_limit_top_refused',
      'account of muster_account_growth_top_bytes_per_second',
      'account of muster_account_quota_left_seconds',
      'account of muster_rollout_top_devices',
      'account of muster_rollout_top_failed_ratio',
    ]);
    expect(labels.filter(({ values }) => new Set(values).size !== values.length)).toEqual([]);
  });

  test('route is the template of every route', () => {
    const paths = sources
      .filter(({ path }) => path.startsWith('api/'))
      .flatMap(({ text }) => [
        ...text.matchAll(
          /'(\/(?:v1|operator\/v1|device\/v1)\/[^']+|\/[a-z]+z|\/metrics|\/openapi\/[a-z0-9]+\.json|\/docs(?:\/[a-z.-]+)?)'/g,
        ),
      ])
      .map(([, path = '']) => path);
    expect(paths.length).toBeGreaterThan(20);
    expect(valuesOf('route')).toEqual([...new Set(['(none)', ...paths])].sort());
  });

  test('loop is the name of every loop, and of no other', () => {
    const names = sources
      .filter(({ path }) => path.startsWith('controller/') || path.startsWith('service/'))
      .flatMap(({ text }) => [...text.matchAll(/(?:\bname: |\(core, )'([a-z-]+)'/g)])
      .map(([, name = '']) => name);
    expect(valuesOf('loop').toSorted()).toEqual([...new Set(names)].sort());
  });
});
