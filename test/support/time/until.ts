import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** Work of this process ends within so many turns of the event loop; longer waits are for another process. */
const TURNS_AT_ONCE = 200;
const INTERVAL_MS = 5;
/** The test's own time limit is shorter. */
const LOOKS_MAX = 3_600_000 / INTERVAL_MS;

/**
 * Resolves once the condition holds. It is checked in every turn of the event loop at first, then every 5 ms; the
 * test's own time limit bounds it. Simulated timers stand still meanwhile.
 */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    if (await holds()) return;
    // Checks without a pause would take the processor from the process that is waited for.
    await (look < TURNS_AT_ONCE ? nextTurn() : sleep(INTERVAL_MS));
  }
  throw new Error('It has not come to hold within an hour.');
}
