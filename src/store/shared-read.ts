/**
 * Shares one read among all callers that may have its answer: whoever asks while a read is under way gets the *next*
 * one, since the one under way may have been answered before the caller's question was put. At most one is under way.
 * When a read fails, those who wait for the next one fail with it: a store that is down is found out in one deadline,
 * not in two.
 */
export function sharedRead<T>(read: () => Promise<T>): () => Promise<T> {
  let underWay = false;
  let next: PromiseWithResolvers<T> | undefined;

  function begin(asked: PromiseWithResolvers<T>): void {
    underWay = true;
    read().then(
      (value) => {
        const waiting = ended();
        asked.resolve(value);
        if (waiting) begin(waiting);
      },
      (error: unknown) => {
        const waiting = ended();
        asked.reject(error);
        waiting?.reject(error);
      },
    );
  }

  function ended(): PromiseWithResolvers<T> | undefined {
    const waiting = next;
    next = undefined;
    underWay = false;
    return waiting;
  }

  return () => {
    if (underWay) return (next ??= Promise.withResolvers<T>()).promise;
    const asked = Promise.withResolvers<T>();
    begin(asked);
    return asked.promise;
  };
}
