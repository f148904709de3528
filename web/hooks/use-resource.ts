import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Unreachable } from '../api/client.ts';
import type { Topic } from '../api/live.ts';
import { onReachable } from '../api/reachable.ts';
import { useSession } from '../shell/session.tsx';

/** What a page reads, with the states that it shows. What was read stays in sight while it is read again. */
export interface Resource<T> {
  readonly data: T | undefined;
  /** Of the last read; undefined where it succeeded. */
  readonly error: unknown;
  readonly loading: boolean;
  /** Reads again. */
  readonly reload: () => void;
  /** Shows a change before it is read again, such as the answer to a change of one's own. */
  readonly replace: (change: (data: T) => T) => void;
}

const AGAIN_MS = 5000;

/**
 * Reads, and reads again after a hint of one of the topics and when the service is back.
 * @param key tells what is read: another key is another resource
 * @param of the account whose hints matter; `''` for what belongs to none
 */
export function useResource<T>(
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  { of, topics = [] }: { readonly of?: string; readonly topics?: readonly Topic[] } = {},
): Resource<T> {
  const { live } = useSession();
  const [state, setState] = useState<{ key: string; data?: T; error?: unknown; loading: boolean }>({
    key,
    loading: true,
  });
  const [round, setRound] = useState(0);
  const reading = useRef(read);
  reading.current = read;
  const reload = useCallback(() => setRound((before) => before + 1), []);

  const wanted = topics.join(',');
  // Before the read: a change after its answer is heard.
  useLayoutEffect(() => {
    const names = wanted.split(',');
    let waiting: ReturnType<typeof setTimeout> | undefined;
    // Several hints within a moment are one read.
    const soon = (): void => {
      waiting ??= setTimeout(() => {
        waiting = undefined;
        reload();
      }, 60);
    };
    const end = live.listen(({ account, topic }) => {
      const isOurs = account === undefined || of === undefined || account === of;
      if (isOurs && (topic === undefined || names.includes(topic))) soon();
    });
    return () => {
      end();
      clearTimeout(waiting);
    };
  }, [live, wanted, of, reload]);

  useLayoutEffect(() => {
    const controller = new AbortController();
    setState((before) => (before.key === key ? { ...before, loading: true } : { key, loading: true }));
    reading.current(controller.signal).then(
      (data) => {
        if (!controller.signal.aborted) setState({ key, data, loading: false });
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        setState((before) => ({ ...(before.key === key ? before : { key }), error, loading: false }));
      },
    );
    return () => controller.abort();
  }, [key, round]);

  const { error } = state;
  useEffect(() => {
    if (!(error instanceof Unreachable)) return undefined;
    const timer = setTimeout(reload, AGAIN_MS);
    const end = onReachable(reload);
    return () => {
      clearTimeout(timer);
      end();
    };
  }, [error, reload, round]);

  const replace = useCallback((change: (data: T) => T) => {
    setState((before) => (before.data === undefined ? before : { ...before, data: change(before.data) }));
  }, []);

  const isCurrent = state.key === key;
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? error : undefined,
    loading: state.loading || !isCurrent,
    reload,
    replace,
  };
}
