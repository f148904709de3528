import process from 'node:process';
import { parseArgs } from 'node:util';
import { findEtcd, NO_ETCD } from '../support/etcd/etcd-binary.ts';
import { ANSWER_MS_MAX, HANGS_MS, lateAfter } from './checkers/late.ts';
import { judgeRestore } from './cluster/restored.ts';
import { World } from './cluster/world.ts';
import { catchBug, caughtLine } from './judgement/bugs-caught.ts';
import { closingLines, sectionLines, verdictOf, type Verdict } from './judgement/report.ts';
import { FAULTS, LONG, rounds, SHORT } from './nemesis/all.ts';
import { BUGS } from './planted-bugs/bugs.ts';
import { seeded, seedFrom } from './random.ts';
import { run } from './runner.ts';

/*
 * `npm run chaos -- [--short] [--minutes N] [--seed N] [--only NAME,NAME] [--history FILE]`: docs/CHAOS.md. Exit codes:
 * 0 passed, 1 a rule or a limit was broken, 2 the run proves nothing.
 */

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '0' },
    seed: { type: 'string' },
    only: { type: 'string', default: '' },
    history: { type: 'string' },
  },
});
const RESTORE = 'restore';
const known = [...FAULTS.map(({ name }) => name), RESTORE, ...BUGS.keys()];
const only = values.only === '' ? known : values.only.split(',');
const strangers = only.filter((name) => !known.includes(name));
if (strangers.length > 0) throw new Error(`--only: ${strangers.join()} is none of ${known.join()}`);

const say = (lines: readonly string[]): void => void process.stdout.write(lines.map((line) => `${line}\n`).join(''));
// The processes end with this one, but only where it exits by itself.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const etcd = findEtcd();
if (etcd === undefined) throw new Error(NO_ETCD);
const seed = seedFrom({ ...process.env, ...(values.seed !== undefined && { CHAOS_SEED: values.seed }) });
const random = seeded(seed);
const quick = values.short;
say([`chaos, ${quick ? 'short' : 'long'}, seed ${seed}`]);

async function faults(binary: string): Promise<Verdict> {
  const chosen = FAULTS.filter(({ name }) => only.includes(name));
  if (chosen.length === 0) return 0;
  await using world = await World.start({ etcd: binary, quick });
  const done = await run(world, rounds(chosen, random, Number(values.minutes)), {
    extent: quick ? SHORT : LONG,
    random,
    checkers: [lateAfter(quick ? HANGS_MS : ANSWER_MS_MAX)],
    onSection: (section) => say(sectionLines(section)),
  });
  const verdict = verdictOf(done, !quick);
  say(closingLines(done, verdict));
  if (verdict !== 0) {
    say([`the history is kept in ${world.recorder.save(values.history)}`]);
  }
  return verdict;
}

async function restore(binary: string): Promise<Verdict> {
  if (!only.includes(RESTORE)) return 0;
  const faultsFound = await judgeRestore(binary);
  say([
    RESTORE,
    ...(faultsFound.length === 0 ? ['  noticed by every replica'] : faultsFound.map((words) => `  FAILED: ${words}`)),
  ]);
  return faultsFound.length === 0 ? 0 : 1;
}

async function bugs(binary: string): Promise<Verdict> {
  let missed = 0;
  for (const name of [...BUGS.keys()].filter((bug) => only.includes(bug))) {
    const caught = await catchBug(binary, name, random);
    if (caught.violations.length === 0) missed += 1;
    say([caughtLine(caught)]);
  }
  return missed === 0 ? 0 : 1;
}

const verdicts: Verdict[] = [];
for (const part of [faults, restore, bugs]) verdicts.push(await part(etcd));
process.exitCode = verdicts.includes(1) ? 1 : verdicts.includes(2) ? 2 : 0;
