/** What runs when a signal aborts, and the one listener that runs it. */
interface Runs {
  readonly all: Set<() => void>;
  readonly listener: () => void;
}

const RUNS = new WeakMap<AbortSignal, Runs>();

/**
 * Runs something when the signal aborts; not where it has aborted already. A signal has one listener, however many calls
 * share it: from the eleventh on, Node warns of a leak.
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
