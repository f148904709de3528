/** The set of a label whose values nobody lists: ids of accounts, the version of Node.js. */
export const OPEN: readonly string[] = [];

/** Buckets of durations from a lookup in memory to a request that has hung. */
export const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
