import { aborted } from './errors.ts';

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

/** What runs when a signal aborts, and the one listener that runs it. */
interface Runs {
  readonly all: Set<() => void>;
  readonly listener: () => void;
}

const RUNS = new WeakMap<AbortSignal, Runs>();

/**
 * Runs something when the signal aborts; not where it has aborted already. A signal has one listener, however many
 * calls share it: from the eleventh on, Node warns of a leak.
 * @returns what takes it back
 */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  if (!signal || signal.aborted) return () => undefined;
  const runs = RUNS.get(signal) ?? listening(signal);
  runs.all.add(run);
  return () => {
    runs.all.delete(run);
    if (runs.all.size > 0) return;
    signal.removeEventListener('abort', runs.listener);
    RUNS.delete(signal);
  };
}

function listening(signal: AbortSignal): Runs {
  const all = new Set<() => void>();
  const listener = (): void => {
    for (const run of all) run();
  };
  signal.addEventListener('abort', listener, { once: true });
  const runs = { all, listener };
  RUNS.set(signal, runs);
  return runs;
}

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
