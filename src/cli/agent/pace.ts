/*
 * How long the daemon waits. A fleet that lost its service at one moment must not come back at one moment.
 */

const BACKOFF_MS_FIRST = 5000;
const BACKOFF_MS_MAX = 120_000;

/**
 * Milliseconds until the next try, after the client has given up by itself: full jitter below a bound that doubles, and
 * never before what the service asked for.
 * @param failures in a row, from 1 on
 */
export function outageBackoffMs(failures: number, retryAfterSeconds: number | undefined, jitter: () => number): number {
  const bound = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_FIRST * 2 ** Math.min(failures - 1, 10));
  return Math.max(bound * jitter(), afterMs(retryAfterSeconds, jitter));
}

const REFUSED_SECONDS = 1800;

/** Milliseconds until a refused credential is tried again: what the service asked for, and up to a tenth more. */
export const refusedMs = (retryAfterSeconds: number | undefined, jitter: () => number): number =>
  afterMs(retryAfterSeconds ?? REFUSED_SECONDS, jitter);

const afterMs = (seconds: number | undefined, jitter: () => number): number =>
  (seconds ?? 0) * 1000 * (1 + jitter() / 10);

/** A held poll that ends sooner was not held. */
const HELD_MS_MIN = 1000;

/**
 * Milliseconds from a poll that brought nothing to the next: what the service asks for where it did not hold the poll.
 * One that it says it held, and that something between has answered at once, is no reason to poll without a pause.
 */
export function unchangedMs(retryAfterSeconds: number | undefined, tookMs: number): number {
  if (retryAfterSeconds !== undefined) return retryAfterSeconds * 1000;
  return Math.max(0, HELD_MS_MIN - tookMs);
}

const UNHELD_MS_FIRST = 1000;

/**
 * Milliseconds from a poll that brought a change to the next. The first that is not held is followed at once by one
 * that the service can hold; where something between keeps it from holding any, the pause doubles up to what it asks
 * for.
 * @param unheld how many polls in a row brought a change and were not held, this one included
 */
export function changedMs(retryAfterSeconds: number | undefined, unheld: number): number {
  if (retryAfterSeconds === undefined || unheld <= 1) return 0;
  return Math.min(retryAfterSeconds * 1000, UNHELD_MS_FIRST * 2 ** Math.min(unheld - 2, 20));
}
