import process from 'node:process';

/**
 * `MUSTER_TEST_EFFORT`: how many times the usual number of runs a property or a simulation has; 1 when it is absent.
 */
export const EFFORT = readEffort(process.env['MUSTER_TEST_EFFORT']);

/**
 * The number of runs of a property or a simulation.
 * @param few that many at the usual effort: enough to fail for a rule that is broken, within a fraction of a second
 */
export const runs = (few: number): number => Math.ceil(few * EFFORT);

function readEffort(value: string | undefined): number {
  const effort = Number(value ?? 1);
  if (Number.isFinite(effort) && effort > 0) return effort;
  throw new Error('MUSTER_TEST_EFFORT is not a number above 0: 1 is usual, 100 takes a night.');
}
