import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves after the pause, or sooner when the signal aborts; never rejects. */
export async function pauseFor(seconds: number, signal: AbortSignal): Promise<void> {
  await sleep(seconds * 1000, undefined, { signal }).catch(() => undefined);
}
