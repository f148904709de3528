import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findPrometheus } from '../support/monitoring/prometheus-binary.ts';
import { AlertTests, promtool, promtoolSucceeds } from '../support/monitoring/promtool.ts';
import { ALERT_CASES } from './alert-cases/all.ts';
import type { Labels, Situation } from './alert-cases/case.ts';

/*
 * Each alert where one Prometheus, or a ruler over several, knows two clusters whose namespaces and jobs have the same
 * names; and where the replicas of one installation are scraped by two shards.
 */

const PATIENT_MS = 240_000;
const NAMESPACE = { namespace: 'muster' };

type Series = Situation['series'];

function labelled(series: Series, labelsOf: (name: string) => Labels): Series {
  return Object.fromEntries(
    Object.entries(series).map(([name, values]) => {
      const labels = Object.entries(labelsOf(name)).map(([label, value]) => `${label}="${value}",`);
      return [name.replace('{', `{${labels.join('')}`), values];
    }),
  );
}
const inCluster = (cluster: string, series: Series): Series => labelled(series, () => ({ cluster, ...NAMESPACE }));

/** The first replica is scraped by one shard, every other by the second. */
const shardOf = (instance: string | undefined): string => (instance === undefined || instance === 'a' ? '0' : '1');
const byShard = (series: Series): Series =>
  labelled(series, (name) => ({ shard: shardOf(/instance="([^"]*)"/.exec(name)?.[1]) }));

interface Trial {
  readonly why: string;
  readonly situation: Situation;
  readonly fires: readonly Labels[];
}

/** @returns undefined where no quiet situation is at the time of the other one */
function trialsOf({ fires, labels, quiet }: (typeof ALERT_CASES)[string]): readonly Trial[] | undefined {
  const well = quiet.find(({ at, step }) => at === fires.at && step === fires.step);
  if (!well) return undefined;
  const trial = (why: string, series: Series, ...told: Labels[]): Trial => ({
    why,
    situation: { ...fires, series },
    fires: told,
  });
  const shard = 'instance' in labels ? { shard: shardOf(labels['instance']) } : {};
  return [
    trial(
      'fires for the cluster with the fault alone',
      { ...inCluster('faulty', fires.series), ...inCluster('well', well.series) },
      { ...labels, cluster: 'faulty', ...NAMESPACE },
    ),
    trial('does not fire for two clusters that are well', {
      ...inCluster('one', well.series),
      ...inCluster('other', well.series),
    }),
    trial('fires for replicas that two shards scrape', byShard(fires.series), { ...labels, ...shard }),
    trial('does not fire for those that are well', byShard(well.series)),
  ];
}

const trials = Object.entries(ALERT_CASES).map(([name, one]) => ({ name, trials: trialsOf(one) ?? [] }));

test('every alert has a quiet situation at the time when it fires', () => {
  expect(trials.filter(({ trials }) => trials.length === 0).map(({ name }) => name)).toEqual([]);
});

describe.skipIf(!findPrometheus())('two clusters, and two shards', () => {
  const files = new AlertTests();
  let allPass: boolean;
  beforeAll(async () => {
    const all = trials.flatMap(({ name, trials }) =>
      trials.map(({ situation, fires }) => files.file(name, situation, fires)),
    );
    allPass = await promtoolSucceeds('test', 'rules', ...all);
  }, PATIENT_MS);
  afterAll(() => files[Symbol.dispose]());

  describe.each(trials)('$name', ({ name, trials }) => {
    test.each(trials)('$why', { timeout: PATIENT_MS }, async ({ situation, fires }) => {
      if (!allPass) expect(await promtool('test', 'rules', files.file(name, situation, fires))).toContain('SUCCESS');
    });
  });
});
