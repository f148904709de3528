import { afterAll, describe, expect, test } from 'vitest';
import { findEtcd, NO_ETCD } from '../support/etcd-binary.ts';
import { catchBug, caughtLine } from './bugs-caught.ts';
import { HANGS_MS, lateAfter } from './checkers/late.ts';
import { FAULTS, SHORT } from './nemesis/all.ts';
import { seeded, seedFrom, shuffled } from './random.ts';
import { closingLines, sectionLines, verdictOf } from './report.ts';
import { judgeRestore } from './restored.ts';
import { run } from './runner.ts';
import { BUGS } from './sabotage/bugs.ts';
import { World } from './world.ts';

/*
 * The short form: every fault once, and every planted bug, each for a few seconds. It judges what holds on any machine;
 * times are printed, and judged by `npm run chaos` alone.
 */

const etcd = findEtcd();
const SEED = seedFrom(process.env);
const printed: string[] = [`chaos, short, seed ${SEED}`];
afterAll(() => void process.stdout.write(printed.map((line) => `${line}\n`).join('')));

const title = `three replicas on three members${etcd === undefined ? ` [skipped: ${NO_ETCD}]` : ''}`;

describe.skipIf(etcd === undefined)(title, () => {
  test(`under every fault, by the seed ${SEED}: no rule is broken, and the run proves something`, async () => {
    const random = seeded(SEED);
    await using world = await World.start({ etcd: etcd ?? '', quick: true });
    const done = await run(world, shuffled(random, FAULTS), {
      extent: SHORT,
      random,
      checkers: [lateAfter(HANGS_MS)],
      onSection: (section) => printed.push(...sectionLines(section)),
    });
    const verdict = verdictOf(done, false);
    printed.push(...closingLines(done, verdict));
    if (verdict !== 0) printed.push(`the history is kept in ${world.recorder.save()}`);
    expect({ violations: done.violations, invalid: done.invalid }).toEqual({ violations: [], invalid: [] });
    expect(verdict).toBe(0);
  });

  test('an older etcd put back under running replicas: they notice, leave the rotation and list anew', async () => {
    expect(await judgeRestore(etcd ?? '')).toEqual([]);
  });

  test.each([...BUGS].map(([name, { breaks }]) => [name, breaks]))(
    'a planted bug is caught: %s breaks %s',
    async (name) => {
      const caught = await catchBug(etcd ?? '', name, seeded(SEED));
      printed.push(caughtLine(caught));
      expect(caught.violations.map(({ rule }) => rule)).toContain(caught.breaks);
    },
  );
});
