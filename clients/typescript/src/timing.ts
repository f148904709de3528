import { aborted } from './errors.ts';
import { onAbort } from './on-abort.ts';

/** Time as the client needs it; a test passes one of its own. */
export interface Timing {
  /** Milliseconds from an arbitrary start; never goes back. */
  now(): number;
  /** Runs something once, after so many milliseconds. @returns what takes that back */
  after(ms: number, run: () => void): () => void;
}

/** What a timer takes at most: longer ones would run at once. */
const TIMER_MS_MAX = 2_147_483_647;

/** The time of the machine. */
export const systemTiming: Timing = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(Math.max(0, Math.ceil(ms)), TIMER_MS_MAX));
    return () => clearTimeout(timer);
  },
};

/** Resolves after the pause. @throws MusterError `aborted`, at once when the signal aborts */
export function pause(timing: Timing, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(aborted(signal));
    const cancel = timing.after(ms, () => {
      stopListening();
      resolve();
    });
    const abort = (): void => {
      cancel();
      if (signal) reject(aborted(signal));
    };
    const stopListening = onAbort(signal, abort);
  });
}
