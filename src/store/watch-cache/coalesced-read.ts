import { batchingPause } from '../../concurrency/batching-pause.ts';

/**
 * Shares one read among all callers that may have its answer. A caller that asks while a read is under way gets the
 * *next* one, since the one under way may have been answered before the caller asked. At most one is under way, and
 * between two of them is a pause in which callers gather.
 * When a read fails, the callers that wait for the next one fail with it: a store that is down is found out in one
 * deadline, not in two.
 */
export function coalescedRead<T>(read: () => Promise<T>): () => Promise<T> {
  /** A read is under way, or the next one is about to begin. */
  let busy = false;
  let next: PromiseWithResolvers<T> | undefined;

  function begin(): void {
    const shared = takeNext();
    busy = shared !== undefined;
    if (!shared) return;
    read().then(
      (value) => {
        shared.resolve(value);
        void batchingPause().then(begin);
      },
      (error: unknown) => {
        busy = false;
        const waiting = takeNext();
        shared.reject(error);
        waiting?.reject(error);
      },
    );
  }

  function takeNext(): PromiseWithResolvers<T> | undefined {
    const taken = next;
    next = undefined;
    return taken;
  }

  return () => {
    next ??= Promise.withResolvers<T>();
    const { promise } = next;
    if (!busy) begin();
    return promise;
  };
}
