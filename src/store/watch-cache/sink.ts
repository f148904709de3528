import type { Entry } from '../port.ts';

/** The place where the records of the watch cache are kept in memory, parsed and indexed. The methods do not throw. */
export interface WatchCacheSink {
  put(entry: Entry): void;
  remove(key: string): void;
  /** Drops everything: the records of another history, or those of a listing that failed, must not be read. */
  clear(): void;
  /** The revision at which the sink holds the key; undefined where it holds none. */
  revisionOf(key: string): number | undefined;
  /** Every key that the sink holds under the prefix, with its revision, in any order. */
  held(prefix: string): Iterable<readonly [key: string, revision: number]>;
  /**
   * The sink holds the whole range as of some revision. Called after each filling, and after each batch from then on.
   */
  settled(): void;
}
