import { gathering } from '../../concurrency/batching-pause.ts';

/**
 * Shares one read among all callers that may have its answer: whoever asks while a read is under way gets the *next*
 * one, since the one under way may have been answered before the caller's question was put. At most one is under way, and
 * between two of them callers gather.
 * When a read fails, those who wait for the next one fail with it: a store that is down is found out in one deadline,
 * not in two.
 */
export function sharedRead<T>(read: () => Promise<T>): () => Promise<T> {
  /** A read is under way, or the next one is about to begin. */
  let busy = false;
  let next: PromiseWithResolvers<T> | undefined;

  function begin(): void {
    const asked = taken();
    busy = asked !== undefined;
    if (!asked) return;
    read().then(
      (value) => {
        asked.resolve(value);
        void gathering().then(begin);
      },
      (error: unknown) => {
        busy = false;
        const waiting = taken();
        asked.reject(error);
        waiting?.reject(error);
      },
    );
  }

  function taken(): PromiseWithResolvers<T> | undefined {
    const asked = next;
    next = undefined;
    return asked;
  }

  return () => {
    next ??= Promise.withResolvers<T>();
    const { promise } = next;
    if (!busy) begin();
    return promise;
  };
}
