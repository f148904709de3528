/**
 * Shares one read among all callers that may have its answer: whoever asks while a read is under way gets the *next*
 * one, since the one under way may have been answered before the caller's question was put. When a read fails, those
 * who wait for the next one fail with it: a store that is down is found out in one deadline, not in two.
 */
export function sharedRead<T>(read: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  let next: Promise<T> | undefined;

  function begin(): Promise<T> {
    next = undefined;
    const reading = read().finally(() => {
      current = undefined;
    });
    current = reading;
    return reading;
  }

  function queue(after: Promise<T>): Promise<T> {
    const queued = after.then(begin);
    queued.catch(() => {
      if (next === queued) next = undefined;
    });
    return queued;
  }

  return () => {
    if (!current) return begin();
    next ??= queue(current);
    return next;
  };
}
