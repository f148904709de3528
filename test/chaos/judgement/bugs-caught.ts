import { CORRECTNESS } from '../checkers/all.ts';
import type { Violation } from '../checkers/checker.ts';
import { World } from '../cluster/world.ts';
import { SHORT } from '../nemesis/all.ts';
import { hold, type Fault } from '../nemesis/fault.ts';
import { answersLost, flowDropped } from '../nemesis/wires.ts';
import { BUGS } from '../planted-bugs/bugs.ts';
import type { Random } from '../random.ts';
import { warm } from '../runner.ts';
import { underLoad } from '../workload/all.ts';

/** Under which fault a bug shows; the others show in ordinary work. */
const SHOWS: ReadonlyMap<string, Fault> = new Map([
  ['cached-authentication', flowDropped],
  ['repeated-commit', answersLost],
]);

/** So many times at most, before it is said that the suite does not catch it. */
const LOOKS_MAX = 48;
const LOOK_EVERY_MS = 1000;
/** Enough that a window of one replica would let more than 600 a minute through soon. */
const HAMMER_PER_SECOND = 90;

interface Caught {
  readonly bug: string;
  readonly breaks: string;
  /** The violations of the rule that the bug breaks; empty where it was not caught. */
  readonly violations: readonly Violation[];
  /** So many times the history was judged. */
  readonly looks: number;
}

/** The result in words, for the report. */
export function caughtLine({ bug, breaks, violations: [first], looks }: Caught): string {
  const words = first ? `caught at look ${looks}: ${first.words}` : `NOT CAUGHT in ${looks} looks`;
  return `planted ${bug} (${breaks}): ${words}`;
}

/** Runs the service with a bug in it until its rule is found broken. */
export async function catchBug(etcd: string, bug: string, random: Random): Promise<Caught> {
  const breaks = BUGS.get(bug)?.breaks ?? '';
  await using world = await World.start({ etcd, quick: true, bug });
  let looks = 0;
  const violations = await underLoad(world, random, HAMMER_PER_SECOND, async () => {
    await warm(world);
    while (looks < LOOKS_MAX) {
      looks += 1;
      await (SHOWS.get(bug)?.strike(world, SHORT, random) ?? hold(LOOK_EVERY_MS));
      // The work goes on: what is answered from here on is not in the store that is read.
      const { calls, marks, stalls, markerOf } = world.recorder;
      const history = { calls: [...calls], marks, stalls, markerOf };
      const outcome = await world.outcome();
      const found = CORRECTNESS.flatMap((check) => check(history, outcome)).filter(({ rule }) => rule === breaks);
      if (found.length > 0) return found;
    }
    return [];
  });
  return { bug, breaks, violations, looks };
}
