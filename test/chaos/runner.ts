import { NoVerdict, timedVerdict } from '../support/run/timed-verdict.ts';
import { CORRECTNESS } from './checkers/all.ts';
import type { Checker, Violation } from './checkers/checker.ts';
import { closing } from './closing.ts';
import type { World } from './cluster/world.ts';
import { isOk, isWrite } from './judgement/history.ts';
import { isKept, type Run, type Section } from './judgement/report.ts';
import { invalidities, LOAD_MIN, loadBefore, metLimit } from './judgement/validity.ts';
import { recoveryMs, writeGapMs } from './measure.ts';
import { hold, took, type Extent, type Fault, type Figure } from './nemesis/fault.ts';
import type { Random } from './random.ts';
import { underLoad } from './workload/all.ts';

const WARM_MS_MAX = 60_000;
/** A replica that has acknowledged nothing for so long after the end of a fault will not. */
const SETTLE_MS_MAX = 60_000;
/** The window is a minute, and what a replica took with it counts for another half of one. */
const LIMIT_MS_MAX = 120_000;

/** Resolves when the service does enough that breaking it means something; what it did is judged afterwards. */
export async function warm({ recorder }: World): Promise<void> {
  await took(async () => loadBefore(recorder, recorder.now()) > LOAD_MIN, WARM_MS_MAX);
}

async function strike(
  world: World,
  fault: Fault,
  { extent, random }: Pick<RunOptions, 'extent' | 'random'>,
): Promise<Section & { readonly violations: readonly Violation[] }> {
  const { recorder } = world;
  const from = recorder.now();
  const struck = await fault.strike(world, extent, random);
  const until = recorder.now();
  recorder.marks.push({ what: 'fault', name: fault.name, from, until });
  await took(async () => recoveryMs(recorder, until) < Number.POSITIVE_INFINITY, SETTLE_MS_MAX);
  const recovery = recoveryMs(recorder, until);
  const { writeGapMs: gapLimit, recoveryMs: recoveryLimit } = fault.limits ?? {};
  const words = [
    ...(struck.violations ?? []),
    ...(recovery === Number.POSITIVE_INFINITY ? ['a replica did not recover'] : []),
  ];
  return {
    name: fault.name,
    figures: [
      ...(struck.figures ?? []),
      {
        name: 'write gap',
        value: writeGapMs(recorder, from, until),
        unit: 'ms',
        ...(gapLimit !== undefined && { limit: gapLimit }),
      },
      { name: 'recovery', value: recovery, unit: 'ms', ...(recoveryLimit !== undefined && { limit: recoveryLimit }) },
    ],
    violations: words.map((text) => ({ rule: fault.name, at: until, words: text })),
  };
}

interface Judged {
  readonly section: Section;
  readonly violations: readonly Violation[];
  readonly repeated: number;
  /** The reasons, in words, why its times prove nothing. */
  readonly invalid: readonly string[];
}

/** Times over their limits, and nothing else that counts. */
class Late extends Error {
  override readonly name = 'Late';
  readonly section: Section;

  constructor(section: Section) {
    super(`${section.name}: a time is over its limit`);
    this.section = section;
  }
}

const isLate = ({ figures }: Section): boolean => {
  const broken = figures.filter((figure) => !isKept(figure) && figure.unit !== 'requests/s');
  return broken.length > 0 && broken.every(({ unit }) => unit === 'ms');
};

/**
 * Strikes again while nothing but times is amiss and the machine stood still; what else was seen is kept of each time.
 */
async function strikeJudged(
  world: World,
  fault: Fault,
  options: Pick<RunOptions, 'extent' | 'random'>,
): Promise<Judged> {
  const violations: Violation[] = [];
  let repeated = 0;
  const attempt = async (): Promise<Section> => {
    await warm(world);
    const { violations: seen, ...section } = await strike(world, fault, options);
    violations.push(...seen);
    if (isLate(section)) throw new Late(section);
    return section;
  };
  try {
    const section = await timedVerdict(attempt, { repeated: () => (repeated += 1) });
    return { section, violations, repeated, invalid: [] };
  } catch (error) {
    // Its figures tell by how much.
    if (error instanceof Late) return { section: error.section, violations, repeated, invalid: [] };
    if (!(error instanceof NoVerdict && error.cause instanceof Late)) throw error;
    const { name, figures } = error.cause.section;
    const section = { name, figures: figures.map(unlimited) };
    return { section, violations, repeated, invalid: [`${name}: ${error.message}`] };
  }
}

const unlimited = ({ name, value, unit }: Figure): Figure => ({ name, value, unit });

/** Faults one after the other under one workload, and then everything is judged. */
export async function run(
  world: World,
  faults: Iterable<Fault>,
  { extent, random, checkers, onSection }: RunOptions,
): Promise<Run> {
  const sections: Section[] = [];
  const violations: Violation[] = [];
  const invalid: string[] = [];
  let repeated = 0;
  await underLoad(world, random, HAMMER_PER_SECOND, async () => {
    await took(async () => metLimit(world.recorder, 0), LIMIT_MS_MAX);
    for (const fault of faults) {
      const judged = await strikeJudged(world, fault, { extent, random });
      sections.push(judged.section);
      violations.push(...judged.violations);
      invalid.push(...judged.invalid);
      repeated += judged.repeated;
      onSection(judged.section);
    }
    const over = world.recorder.now();
    await hold(extent.calmMs);
    await took(async () => metLimit(world.recorder, over), LIMIT_MS_MAX);
  });
  await closing(world);
  const outcome = await world.outcome();
  const { recorder } = world;
  violations.push(...[...CORRECTNESS, ...checkers].flatMap((check) => check(recorder, outcome)));
  const stalledMs = recorder.stalls.reduce((sum, { from, until }) => sum + until - from, 0);
  const acknowledged = recorder.calls.filter((call) => isOk(call) && isWrite(call)).length;
  return {
    sections,
    violations,
    invalid: [...invalid, ...invalidities(recorder, world.missedRevisions)],
    repeated,
    calls: recorder.calls.length,
    acknowledged,
    stalledShare: stalledMs / recorder.now(),
  };
}

/** The pace of a client whose account is admitted 600 a minute: more than twice that. */
const HAMMER_PER_SECOND = 22;

interface RunOptions {
  readonly extent: Extent;
  readonly random: Random;
  /** The checkers beside those that hold on any machine. */
  readonly checkers: readonly Checker[];
  readonly onSection: (section: Section) => void;
}
