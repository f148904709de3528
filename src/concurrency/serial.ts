/** Runs the work after all work that was given before. Resolves or rejects as the work does. */
export type SerialExecutor = <T>(run: () => Promise<T>) => Promise<T>;

/**
 * An executor that runs what it is given one after the other, in the order in which it was given. Work that rejects
 * does not keep the work behind it from running. The queue has no bound of its own.
 */
export function serialExecutor(): SerialExecutor {
  let last: Promise<unknown> = Promise.resolve();
  return async (run) => {
    const mine = last.then(run);
    last = mine.catch(() => undefined);
    return mine;
  };
}
