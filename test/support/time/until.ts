import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

interface Looks {
  /** So many looks without a pause: work of this process ends meanwhile, and longer waits are for another process. */
  readonly atOnce: number;
  /** The pause from then on: looks without one would take the processor from the process that is waited for. */
  readonly everyMs: number;
}
const OF_THIS_PROCESS: Looks = { atOnce: 200, everyMs: 5 };
/** A look that asks somebody takes many turns itself, and costs the processor that whoever is asked needs. */
const ASKING: Looks = { atOnce: 5, everyMs: 20 };
/** Hours: the test's own time limit is shorter. */
const LOOKS_MAX = 720_000;

/**
 * Resolves once the condition holds. It is checked in every turn of the event loop at first, and then with a pause; the
 * test's own time limit bounds it. Simulated timers stand still meanwhile.
 * @param looks by default few where the condition asks somebody
 */
export async function until(holds: () => boolean | Promise<boolean>, looks?: Looks): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const held = holds();
    if (await held) return;
    const { atOnce, everyMs } = looks ?? (typeof held === 'boolean' ? OF_THIS_PROCESS : ASKING);
    await (look < atOnce ? nextTurn() : sleep(everyMs));
  }
  throw new Error('It has not come to hold within an hour.');
}
