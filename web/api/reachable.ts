/* The service was reached by the last request, or not: one banner says it, and what waits goes on when it is back. */

let isReached = true;
const listeners = new Set<() => void>();

export const isReachable = (): boolean => isReached;

export function noteReached(reached: boolean): void {
  if (reached === isReached) return;
  isReached = reached;
  for (const listener of listeners) listener();
}

/** Calls back when the service is away or is back. @returns a function that ends it */
export function onReachable(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
