import process from 'node:process';
import { afterAll, describe, expect, test } from 'vitest';
import { ANSWER_MS_MAX, lateAfter } from '../chaos/checkers/late.ts';
import { World } from '../chaos/cluster/world.ts';
import { closingLines, sectionLines, verdictOf } from '../chaos/judgement/report.ts';
import { FAULTS, LONG, rounds } from '../chaos/nemesis/all.ts';
import { seeded, seedFrom } from '../chaos/random.ts';
import { run } from '../chaos/runner.ts';
import { findEtcd, NO_ETCD } from '../support/etcd/etcd-binary.ts';
import { countRepeated } from '../support/run/timed-verdict.ts';

/* The long form of test/chaos: the same faults, longer and again and again, and every limit is judged. */

const MINUTES = Number(process.env['MUSTER_TEST_CHAOS_MINUTES'] ?? 60);
/** The last round, the calm after it, and the judging of all that happened. */
const MORE_MINUTES = 60;

const etcd = findEtcd();
const SEED = seedFrom(process.env);
const say = (lines: readonly string[]): void => void process.stdout.write(lines.map((line) => `${line}\n`).join(''));
const closing: string[] = [];
afterAll(() => say(closing));

const title = `three replicas on three members${etcd === undefined ? ` [skipped: ${NO_ETCD}]` : ''}`;

describe.skipIf(etcd === undefined)(title, () => {
  test(
    `for ${MINUTES} minutes under every fault, by the seed ${SEED}: no rule and no limit is broken`,
    { timeout: (MINUTES + MORE_MINUTES) * 60_000 },
    async () => {
      const random = seeded(SEED);
      await using world = await World.start({ etcd: etcd ?? '', quick: false });
      const done = await run(world, rounds(FAULTS, random, MINUTES), {
        extent: LONG,
        random,
        checkers: [lateAfter(ANSWER_MS_MAX)],
        onSection: (section) => say(sectionLines(section)),
      });
      const verdict = verdictOf(done, true);
      for (let n = 0; n < done.repeated; n += 1) countRepeated();
      closing.push(...closingLines(done, verdict));
      if (verdict !== 0) closing.push(`the history is kept in ${world.recorder.save()}`);
      expect({ violations: done.violations, invalid: done.invalid }).toEqual({ violations: [], invalid: [] });
      expect(verdict).toBe(0);
    },
  );
});
