import { setImmediate as nextTurn } from 'node:timers/promises';

/** From 64 clients: with two, fewer share an answer; from four on, they and the service wait for each other. */
const TURNS = 3;

/**
 * The pause between two requests to the store that callers share. Some turns of the event loop: what has come meanwhile,
 * and what those bring who have just been answered, then rides in the next one. Where there is little to do, it is over
 * at once.
 */
export async function gathering(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
}
