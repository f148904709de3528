interface Parallel {
  readonly atOnce: number;
  /** Once it aborts, nothing is begun any more. */
  readonly signal?: AbortSignal | undefined;
}

/** Does the work for each of them, some at once. Ends after all that has begun, with the first fault. */
export async function inParallel<T>(
  items: Iterable<T>,
  { atOnce, signal }: Parallel,
  work: (item: T) => Promise<void>,
): Promise<void> {
  // One iterator for all workers: each takes the next thing.
  const left = Iterator.from(items);
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    for (const item of left) {
      if (hasFailed) return;
      signal?.throwIfAborted();
      await work(item);
    }
  };
  await allEnded(Array.from({ length: atOnce }, worker), () => (hasFailed = true));
}

/** Waits until each of them has ended. @param failed is told each fault as it happens @throws the first fault */
export async function allEnded(work: readonly Promise<void>[], failed: (error: unknown) => void): Promise<void> {
  const faults: unknown[] = [];
  await Promise.all(
    work.map((one) =>
      one.catch((error: unknown) => {
        faults.push(error);
        failed(error);
      }),
    ),
  );
  if (faults.length > 0) throw faults[0];
}
