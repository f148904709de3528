/** The spread of the poll intervals, so that a fleet does not poll in step. */
const SPREAD = 0.1;

/** The base interval with its spread, in whole seconds. @param at from -1, the shortest interval, to 1, the longest */
export const pollIntervalAt = (baseSeconds: number, at: number): number =>
  Math.max(1, Math.round(baseSeconds * (1 + SPREAD * at)));
