import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadYaml } from '@kubernetes/client-node';
import { expect, test } from 'vitest';
import { documentedValues } from '../../scripts/chart-values.ts';
import { at, CHART, describeWithHelm, ON_ETCD, template, type Values } from './support/render.ts';

/*
 * Values that are not there: those of a former release under --reuse-values, or a null, which takes a default away.
 */

const text = readFileSync(join(CHART, 'values.yaml'), 'utf8');
const defaults = loadYaml<unknown>(text);
const paths = documentedValues(text).rows.map(({ path }) => path);
const valueAt = (path: string): unknown => at(defaults, ...path.split('.'));
const isEmpty = (value: unknown): boolean =>
  value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

/** The values with a null at each of the paths. */
function without(...gone: readonly string[]): Values {
  const values: Record<string, unknown> = structuredClone(ON_ETCD);
  for (const path of gone) {
    const steps = path.split('.');
    let here = values;
    for (const step of steps.slice(0, -1)) here = (here[step] ??= {}) as Record<string, unknown>;
    here[steps.at(-1) ?? ''] = null;
  }
  return values;
}

describeWithHelm('values that are not there', () => {
  test.each([3, 4] as const)('are named, with what to do, by helm %i', async (helm) => {
    const said = await template({ helm, values: without('operator', 'config.opsConcurrency', 'metrics.dashboards') })
      .then(() => 'nothing')
      .catch(String);
    expect(said).toContain('config.opsConcurrency, metrics.dashboards, operator: no value.');
    expect(said).toContain('take --reset-then-reuse-values');
  });

  test('are named wherever they lie: no section, and no key that has a default', async () => {
    const sections = paths.flatMap((path) =>
      path.split('.').flatMap((_, i, all) => (i === 0 ? [] : [all.slice(0, i).join('.')])),
    );
    for (const section of new Set(sections)) {
      if (section === 'store') continue;
      await expect(template({ values: without(section) })).rejects.toThrow(`${section}: no value`);
    }
    const keys = paths.filter((path) => !isEmpty(valueAt(path)) && typeof valueAt(path) !== 'object');
    const said = await template({ values: without(...keys) }).catch(String);
    const unsaid = keys.filter((path) => !said.includes(path) && valueAt(path) !== false && valueAt(path) !== 0);
    expect(unsaid).toEqual(['autoscaling.targetCPUUtilizationPercentage', 'fsGroup']);
  });

  test('are looked for by every template before it reads one', () => {
    const files = readdirSync(join(CHART, 'templates'), { recursive: true, encoding: 'utf8' });
    const templates = files.filter((name) => /\.(?:yaml|txt)$/.test(name));
    expect(templates.length).toBeGreaterThan(15);
    const begin = /^\{\{- include "muster\.complete" \. \}\}\n/;
    const others = templates.filter((name) => !begin.test(readFileSync(join(CHART, 'templates', name), 'utf8')));
    expect(others).toEqual([]);
  });

  test('are what they are where the default is empty', async () => {
    const empty = paths.filter((path) => isEmpty(valueAt(path)) && path !== 'store.etcd.endpoints');
    expect(empty.length).toBeGreaterThan(100);
    expect(await template({ values: without(...empty) })).toBe(await template({ values: ON_ETCD }));
  });

  test('are left out where Kubernetes reads a map of them', async () => {
    const maps = paths.filter(
      (path) => !isEmpty(valueAt(path)) && !Array.isArray(valueAt(path)) && typeof valueAt(path) === 'object',
    );
    expect(maps).toContain('resources');
    expect(await template({ values: without(...maps) })).toContain('kind: Deployment');
  });
});
