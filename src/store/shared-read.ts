/**
 * The next read begins after so many turns of the event loop: what has come meanwhile, and what those bring who have
 * just been answered, shares it. Where there is little to do, these turns are over at once.
 */
const TURNS_BETWEEN = 2;

/**
 * Shares one read among all callers that may have its answer: whoever asks while a read is under way gets the *next*
 * one, since the one under way may have been answered before the caller's question was put. At most one is under way.
 * When a read fails, those who wait for the next one fail with it: a store that is down is found out in one deadline,
 * not in two.
 */
export function sharedRead<T>(read: () => Promise<T>): () => Promise<T> {
  /** A read is under way, or the next one is about to begin. */
  let busy = false;
  let next: PromiseWithResolvers<T> | undefined;

  function beginAfter(turns: number): void {
    if (turns > 0) setImmediate(beginAfter, turns - 1);
    else begin();
  }

  function begin(): void {
    const asked = taken();
    busy = asked !== undefined;
    if (!asked) return;
    read().then(
      (value) => {
        asked.resolve(value);
        beginAfter(TURNS_BETWEEN);
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
