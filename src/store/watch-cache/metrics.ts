/* The metrics of the watch cache: the verbs that it calls, and the closed sets of their labels. */

/** How the comparison of a key range in memory with the store ends; `unknown` where the store could not be compared. */
export const CONSISTENCY_VERDICTS = ['equal', 'different', 'unknown'] as const;
export type ConsistencyVerdict = (typeof CONSISTENCY_VERDICTS)[number];

/** How the watch that feeds memory ends. */
export const WATCH_ENDS = ['compacted', 'disconnected', 'closed'] as const;

/** The verbs by which the watch cache reports its state. */
export interface WatchCacheMetrics {
  /** Memory has applied the store up to this revision. */
  cacheApplied(revision: number): void;
  /** A read found memory behind the store and read the store itself. */
  cacheBehind(): void;
  /** Memory was cleared and the store listed anew. */
  cacheRelisted(): void;
  cacheWatchEnded(reason: (typeof WATCH_ENDS)[number]): void;
  cacheChecked(verdict: ConsistencyVerdict): void;
}
