import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { describe, expect, test } from 'vitest';
import { ERRORS } from '../../src/api/http/errors.ts';
import {
  cataloguedLabels,
  cataloguedSeries,
  registeredSeries,
  rowOf,
} from '../support/monitoring/metrics-catalogue.ts';

/* docs/METRICS.md is the catalogue: what it has exists, and what exists is in it. */

const SRC = resolve(import.meta.dirname, '../../src');
const catalogue = cataloguedSeries();
const labelSets = cataloguedLabels();
const registered = await registeredSeries();
const own = registered.filter(({ name }) => name.startsWith('muster_'));

const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path, text: readFileSync(join(SRC, path), 'utf8') }));

test('every series of the code is in docs/METRICS.md, with its type, labels and help', () => {
  const rows = new Set(catalogue.map((series) => rowOf(series)));
  expect(own.length).toBeGreaterThan(40);
  // What fails here is the row to add.
  expect(registered.map((series) => rowOf(series)).filter((row) => !rows.has(row))).toEqual([]);
});

test('every series of docs/METRICS.md exists', () => {
  const exists = new Set(registered.map(({ name }) => name));
  // Some of the client library's own are Linux's.
  const mine = catalogue.filter(({ name }) => name.startsWith('muster_') || process.platform === 'linux');
  expect(mine.map(({ name }) => name).filter((name) => !exists.has(name))).toEqual([]);
});

test('a series has one row, with a unit and the version since which it is there', () => {
  const names = catalogue.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  expect(catalogue.filter(({ unit, since }) => unit === '' || !/^\d+\.\d+\.\d+$/.test(since))).toEqual([]);
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

test('no series is made outside of createAllMetrics', () => {
  const exists = new Set(own.map(({ name }) => name));
  const named = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/'(muster_[a-z_]+)'/g)].map(([, name = '']) => ({ path, name })),
  );
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter(({ name }) => !exists.has(name))).toEqual([]);
});

describe('labels', () => {
  test('every label has its values in docs/METRICS.md, and no other has', () => {
    const wanted = own.flatMap(({ name, labels }) => labels.map((label) => `${label} of ${name}`));
    const told = labelSets.flatMap(({ label, series }) => series.map((name) => `${label} of ${name}`));
    const words = wanted.filter((label) => !label.endsWith(' of muster_build_info'));
    expect(told.toSorted()).toEqual(words.toSorted());
  });

  test('a series that is there from the start has all the values that are told', () => {
    const initial = own.flatMap(({ name, initial }) =>
      [...initial].filter(([, values]) => values.length > 0).map(([label, values]) => ({ name, label, values })),
    );
    const closed = initial.filter(({ name }) => name !== 'muster_build_info');
    expect(closed.length).toBeGreaterThan(10);
    for (const { name, label, values } of closed) {
      const told = labelSets.find((set) => set.label === label && set.series.includes(name));
      expect(told?.values.toSorted(), `${label} of ${name}`).toEqual(values);
    }
  });

  const valuesOf = (label: string): string[] =>
    (labelSets.find((set) => set.label === label)?.values ?? []).filter((value) => value !== '').toSorted();

  test('code and status are those of the table of errors, and of what succeeds', () => {
    expect(valuesOf('code')).toEqual([...Object.keys(ERRORS), 'broken_off'].sort());
    const statuses = new Set(Object.values(ERRORS).map(({ status }) => String(status)));
    expect(valuesOf('status')).toEqual([...statuses, '200', '201', '202', '204', '304'].sort());
  });

  test('route is the template of every route', () => {
    const paths = sources
      .filter(({ path }) => path.startsWith('api/'))
      .flatMap(({ text }) => [...text.matchAll(/'(\/(?:v1|operator\/v1|device\/v1)\/[^']+|\/[a-z]+z|\/metrics)'/g)])
      .map(([, path = '']) => path);
    expect(paths.length).toBeGreaterThan(20);
    expect(valuesOf('route')).toEqual([...new Set(['(none)', ...paths])].sort());
  });

  test('loop is the name of every loop', () => {
    const names = sources
      .filter(({ path }) => path.startsWith('controller/') || path === 'service/service.ts')
      .flatMap(({ text }) => [...text.matchAll(/\bname: '([a-z-]+)'/g)])
      .map(([, name = '']) => name);
    expect(valuesOf('loop')).toEqual([...new Set(names)].sort());
  });
});
