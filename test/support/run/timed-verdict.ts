import { TestRunner, type TaskMeta } from 'vitest';
import { ControlLoop, type Stalls } from './control-loop.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** How many verdicts of this test did not count and were repeated, since the machine stood still meanwhile. */
    repeatedVerdicts?: number;
  }
}

/** A control loop that gets no turn for longer shows a machine that cannot keep a deadline of seconds. */
export const STALL_MS_MAX = 250;
export const ATTEMPTS_MAX = 5;

/** The machine stood still each time; its cause is what the last attempt threw. */
export class NoVerdict extends Error {
  override readonly name = 'NoVerdict';
}

/** A test that is running, as vitest hands it to its function. */
interface Running {
  readonly meta: TaskMeta;
}

interface TimedVerdictOptions {
  /** The test it is of: to be given where tests of a file run at once, since any of them is vitest's current one. */
  readonly task?: Running;
  readonly watch?: () => Promise<Pick<ControlLoop, 'stalls'> & AsyncDisposable>;
  /** Called for each attempt that did not count. */
  readonly repeated?: () => void;
}

/**
 * A verdict on a duration that real processes keep in real time. The attempt measures and throws where it was too long.
 * That counts while a control loop beside it got its turns; else the attempt is repeated, and the closing line says so.
 * A result in time counts on any machine: a machine that stands still makes nothing sooner.
 * @param attempt begins anew each time, with what it breaks and mends
 * @returns what the attempt that counts returned
 * @throws what the attempt that counts threw; NoVerdict where the machine stood still in each of five
 */
export async function timedVerdict<T>(
  attempt: () => Promise<T>,
  { task, watch = () => ControlLoop.start(), repeated = () => countRepeated(task) }: TimedVerdictOptions = {},
): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    await using loop = await watch();
    try {
      return await attempt();
    } catch (error) {
      const stalls = await loop.stalls();
      if (!stoodStill(stalls)) throw error;
      if (attempts === ATTEMPTS_MAX) {
        throw new NoVerdict(
          `there is no verdict: the machine stood still in each of ${attempts} attempts, in the last one ${words(stalls)}`,
          { cause: error },
        );
      }
      repeated();
    }
  }
}

const stoodStill = ({ machineMs, ownMs }: Stalls): boolean => Math.max(machineMs, ownMs) > STALL_MS_MAX;

const words = ({ machineMs, ownMs }: Stalls): string =>
  `for ${Math.max(machineMs, ownMs).toFixed(0)} ms, where ${STALL_MS_MAX} ms are let through`;

/** For the closing line, where a test runs. */
export function countRepeated(task: Running | undefined = TestRunner.getCurrentTest()): void {
  const meta = task?.meta;
  if (meta) meta.repeatedVerdicts = (meta.repeatedVerdicts ?? 0) + 1;
}
