import { setTimeout as sleep } from 'node:timers/promises';
import { vi } from 'vitest';

const STEP_MS = 5;

/** Resolves as the work does; time that is simulated goes on meanwhile, and never faster than real time does. */
export async function whileTimePasses<T>(work: PromiseLike<T>): Promise<T> {
  const over = new AbortController();
  const done = Promise.resolve(work).finally(() => over.abort());
  // A failure is thrown by the `await` below.
  done.catch(() => undefined);
  while (!over.signal.aborted) {
    await sleep(STEP_MS);
    if (vi.isFakeTimers()) await vi.advanceTimersByTimeAsync(STEP_MS);
  }
  return await done;
}
