import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

/** A change that a person asked for. */
interface Action<Arguments extends readonly unknown[]> {
  readonly busy: boolean;
  /** Why it failed last; undefined once it is tried again. */
  readonly error: unknown;
  /** Runs it, unless it runs already. */
  readonly run: (...args: Arguments) => void;
  readonly clear: () => void;
}

/** One change at a time, with its state for the button and the failure beside it. */
export function useAction<Arguments extends readonly unknown[]>(
  work: (...args: Arguments) => Promise<unknown>,
): Action<Arguments> {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(undefined);
  const running = useRef(false);
  const gone = useRef(false);
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => {
    gone.current = false;
    return () => {
      gone.current = true;
    };
  }, []);
  const run = useCallback((...args: Arguments) => {
    if (running.current) return;
    running.current = true;
    setBusy(true);
    setError(undefined);
    latest
      .current(...args)
      .catch((fault: unknown) => {
        if (!gone.current) setError(fault);
      })
      .finally(() => {
        running.current = false;
        if (!gone.current) setBusy(false);
      });
  }, []);
  const clear = useCallback(() => setError(undefined), []);
  return { busy, error, run, clear };
}
