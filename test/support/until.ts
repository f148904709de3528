import { vi } from 'vitest';

/** What the process itself does is done within so many turns of the event loop; the rest waits for another process. */
const TURNS_AT_ONCE = 200;
const INTERVAL_MS = 5;
/** The test's own time limit is shorter. */
const TIMEOUT_MS = 3_600_000;

/** Resolves once it holds, looked at in every turn of the event loop at first; the test's own time limit bounds it. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < TURNS_AT_ONCE; turn += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  // Looking without a pause would take the processor from the one that is waited for.
  await vi.waitUntil(holds, { interval: INTERVAL_MS, timeout: TIMEOUT_MS });
}
