import { afterAll, describe, expect, test } from 'vitest';
import { findEtcd, NO_ETCD } from '../support/etcd/etcd-binary.ts';
import { countRepeated } from '../support/run/timed-verdict.ts';
import { HANGS_MS, lateAfter } from './checkers/late.ts';
import { judgeRestore } from './cluster/restored.ts';
import { World } from './cluster/world.ts';
import { closingLines, sectionLines, verdictOf } from './judgement/report.ts';
import { FAULTS, rounds, SHORT } from './nemesis/all.ts';
import { seeded, seedFrom } from './random.ts';
import { run } from './runner.ts';

/* The short form: every fault once, each for a few seconds. test/nightly/chaos.test.ts has the long one. */

const etcd = findEtcd();
const SEED = seedFrom(process.env);
/** Two minutes on an idle machine; on one that stands still, faults strike up to five times. */
const RUN_MS_MAX = 1_500_000;
const printed: string[] = [`chaos, short, seed ${SEED}`];
afterAll(() => void process.stdout.write(printed.map((line) => `${line}\n`).join('')));

const title = `three replicas on three members${etcd === undefined ? ` [skipped: ${NO_ETCD}]` : ''}`;

describe.skipIf(etcd === undefined)(title, () => {
  const words = `under every fault, by the seed ${SEED}: no rule is broken, and the run proves something`;
  test(words, { timeout: RUN_MS_MAX }, async () => {
    const random = seeded(SEED);
    await using world = await World.start({ etcd: etcd ?? '', quick: true });
    const done = await run(world, rounds(FAULTS, random, 0), {
      extent: SHORT,
      random,
      checkers: [lateAfter(HANGS_MS)],
      onSection: (section) => printed.push(...sectionLines(section)),
    });
    const verdict = verdictOf(done, false);
    for (let n = 0; n < done.repeated; n += 1) countRepeated();
    printed.push(...closingLines(done, verdict));
    if (verdict !== 0) printed.push(`the history is kept in ${world.recorder.save()}`);
    expect({ violations: done.violations, invalid: done.invalid }).toEqual({ violations: [], invalid: [] });
    expect(verdict).toBe(0);
  });

  test('an older etcd put back under running replicas: they notice, leave the rotation and list anew', async () => {
    expect(await judgeRestore(etcd ?? '')).toEqual([]);
  });
});
