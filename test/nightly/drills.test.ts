import { describe, expect, test } from 'vitest';
import { DRILL_NAMES } from '../../drill/drills.ts';
import { drill } from '../../drill/run.ts';
import { findEtcd, NO_ETCD } from '../support/etcd/etcd-binary.ts';
import { findPrometheus, NO_PROMETHEUS } from '../support/monitoring/prometheus-binary.ts';

/* docs/DRILLS.md, drill by drill. */

const [etcd, prometheus] = [findEtcd(), findPrometheus()];
const missing = [...(etcd === undefined ? [NO_ETCD] : []), ...(prometheus === undefined ? [NO_PROMETHEUS] : [])];
const title = `a drill${missing.length === 0 ? '' : ` [skipped: ${missing.join('; ')}]`}`;

describe.skipIf(missing.length > 0)(title, () => {
  test.each(DRILL_NAMES)('%s: its alert fires, the runbook has something to look at, and it ends', async (name) => {
    const said: string[] = [];
    const { printed } = await drill(name, (line) => said.push(line));
    expect(said.filter((line) => / (?:fires|has ended) after \d+ s\.$/.test(line))).toHaveLength(2);
    const useful = printed.filter((output) => output !== '' && !output.startsWith('not here'));
    expect(useful).not.toEqual([]);
  });
});
