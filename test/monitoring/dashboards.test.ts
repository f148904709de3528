import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { BOARDS, boardText } from '../../deploy/dashboards/boards.ts';
import { cataloguedLabels, cataloguedSeries } from '../support/monitoring/metrics-catalogue.ts';
import { alerts, records } from '../support/monitoring/rules.ts';

const FOLDER = resolve(import.meta.dirname, '../../charts/muster/files/dashboards');

const panelSchema = z.looseObject({
  id: z.int(),
  type: z.enum(['row', 'timeseries', 'stat', 'table']),
  title: z.string().min(1),
  gridPos: z.object({ x: z.int().min(0), y: z.int().min(0), w: z.int().min(1), h: z.int().min(1) }),
  description: z.string().optional(),
  links: z.array(z.object({ title: z.string(), url: z.string() })).optional(),
  targets: z.array(z.looseObject({ expr: z.string(), datasource: z.object({ uid: z.string() }) })).optional(),
  fieldConfig: z
    .looseObject({
      defaults: z.looseObject({ unit: z.string(), thresholds: z.object({ steps: z.array(z.looseObject({})).min(1) }) }),
    })
    .optional(),
});
const boardSchema = z.looseObject({
  uid: z.string().max(40),
  title: z.string(),
  annotations: z.object({ list: z.array(z.looseObject({ name: z.string(), expr: z.string() })) }),
  templating: z.object({ list: z.array(z.looseObject({ name: z.string(), type: z.string() })) }),
  panels: z.array(panelSchema),
});

/** The series that are on no board and in no alert, with the reason. */
const UNREAD: Readonly<Record<string, string>> = {
  muster_heartbeat_flushed_bytes_total: 'benchmarks divide it by the flushes',
  muster_watch_cache_applied_revision: 'the lag is what matters; it says which revision a stuck replica has',
};
/** Those of the client library beside the ones that are read: for a person who looks into one process. */
const UNREAD_OF_LIBRARY = /^(?:process|nodejs)_/;

const boards = BOARDS.map((board) => boardSchema.parse(JSON.parse(boardText(board))));

test('the committed files are what the generator makes: npm run dashboards', () => {
  expect(readdirSync(FOLDER).toSorted()).toEqual(BOARDS.map(({ name }) => `${name}.json`).toSorted());
  for (const board of BOARDS) expect(readFileSync(join(FOLDER, `${board.name}.json`), 'utf8')).toBe(boardText(board));
});

test('every series is on a board, in an alert, or listed with the reason why it is not', () => {
  const texts = [...BOARDS.map((board) => boardText(board)), ...alerts.map(({ expr }) => expr)];
  const read = [...texts, ...records.map(({ expr }) => expr)].join('\n');
  const unread = cataloguedSeries()
    .map(({ name }) => name)
    .filter((name) => !new RegExp(`\\b${name}(?:_bucket|_count|_sum)?\\b`).test(read));
  expect(unread.filter((name) => !UNREAD_OF_LIBRARY.test(name))).toEqual(Object.keys(UNREAD));
});

test('boards have addresses and titles of their own', () => {
  expect(new Set(boards.map(({ uid }) => uid)).size).toBe(boards.length);
  expect(new Set(boards.map(({ title }) => title)).size).toBe(boards.length);
});

describe.each(boards)('$title', ({ annotations, templating, panels }) => {
  const shown = panels.filter(({ type }) => type !== 'row');
  const expressions = shown.flatMap(({ targets }) => (targets ?? []).map(({ expr }) => expr));

  test('is chosen by data source, cluster, namespace, job and instance', () => {
    expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'cluster', 'namespace', 'job', 'instance']);
    // `.*` also matches where the label is missing, as a namespace is outside of Kubernetes.
    for (const variable of templating.list.slice(1))
      expect(variable).toMatchObject({ allValue: '.*', includeAll: true });
  });

  test('every panel has a unit, a description, thresholds and a query to the chosen data source', () => {
    expect(shown.length).toBeGreaterThan(10);
    for (const { title, description = '', fieldConfig, targets = [] } of shown) {
      expect(description, `of ${title}`).toMatch(/^.{15,}\.$/);
      expect(fieldConfig?.defaults.unit, `of ${title}`).toMatch(/^\S/);
      expect(targets.length, `of ${title}`).toBeGreaterThan(0);
      for (const { datasource } of targets) expect(datasource.uid).toBe('${datasource}');
    }
  });

  test('every panel leads to the runbook, and to a section that it has', () => {
    for (const { title, links } of shown) {
      expect(links, `of ${title}`).toHaveLength(1);
      const [, anchor] = /^https:\/\/muster\.dev\/docs\/runbook(?:#(\w+))?$/.exec(links?.[0]?.url ?? '') ?? [
        title,
        '-',
      ];
      if (anchor !== undefined) expect(alerts.map(({ alert }) => alert.toLowerCase())).toContain(anchor);
    }
  });

  test('keeps clusters apart, and counts by the minute whatever the width of the picture', () => {
    for (const expr of expressions) {
      for (const [, by = ''] of expr.matchAll(/\b(?:sum|max|min|count)(?: by \(([^)]*)\))? \(/g)) {
        expect(by.split(', '), `in ${expr}`).toContain('cluster');
      }
      expect(expr).not.toMatch(/increase\([^[]*\[\$__rate_interval\]/);
    }
  });

  test('shows when another replica began to lead', () => {
    expect(annotations.list.map(({ name }) => name)).toEqual(['Leader changes']);
  });

  test('panels have ids and places of their own', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Set<string>();
    for (const { gridPos } of panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(taken).not.toContain(`${x},${y}`);
          taken.add(`${x},${y}`);
        }
      }
    }
  });

  test('every query obeys the variables, and reads only series and label values that exist', () => {
    const catalogue = new Set(cataloguedSeries().map(({ name }) => name));
    const recorded = new Set(records.map(({ record }) => record));
    const sets = cataloguedLabels();
    for (const expr of expressions) {
      const selectors = [...expr.matchAll(/\b((?:muster|process|nodejs|ALERTS)[a-z0-9_:]*)\{([^}]*)\}/g)];
      expect(selectors.length, `in ${expr}`).toBeGreaterThan(0);
      for (const [, name = '', matchers = ''] of selectors) {
        const base = name.replace(/_(?:bucket|count|sum)$/, '');
        expect(
          name === 'ALERTS' || catalogue.has(name) || catalogue.has(base) || recorded.has(name),
          `is there ${name}`,
        ).toBe(true);
        expect(matchers).toContain('cluster=~"$cluster",namespace=~"$namespace",job=~"$job"');
        if (!name.includes(':') && name !== 'ALERTS') expect(matchers).toContain('instance=~"$instance"');
        for (const [, label, value = ''] of matchers.matchAll(/(\w+)[=!]~?"([^"$]+)"/g)) {
          const values = sets.find((set) => set.label === label && set.series.includes(base))?.values;
          if (values === undefined) continue;
          for (const part of value.split('|')) {
            expect(
              values.filter((known) => new RegExp(`^(?:${part})$`).test(known)),
              `${label} ${part}`,
            ).not.toEqual([]);
          }
        }
      }
    }
  });
});
