import type { RandomSource } from '../credentials/random-ids.ts';

/** The pauses before the second to the ninth attempt, in milliseconds: 28 hours in all. */
const PAUSES_MS = [5_000, 30_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000] as const;
/** The attempts of a delivery; the last one that fails ends it. */
export const ATTEMPTS_MAX = PAUSES_MS.length + 1;
/** A receiver that asks for a longer pause gets this one. */
const RETRY_AFTER_MAX_MS = 36_000_000;
/** A pause is longer by up to this part of it, so that what failed together does not come back together. */
const JITTER = 0.2;

/**
 * The pause after an attempt that failed.
 * @param attempt its number, 1 for the first
 * @param retryAfterMs the pause that the receiver asked for
 * @returns milliseconds; undefined after the last attempt
 */
export function pauseAfter(
  attempt: number,
  retryAfterMs: number | undefined,
  random: Pick<RandomSource, 'bytes'>,
): number | undefined {
  const pause = PAUSES_MS[attempt - 1];
  if (pause === undefined) return undefined;
  const longer = 1 + (JITTER * random.bytes(1).readUInt8()) / 255;
  return Math.max(Math.round(pause * longer), Math.min(retryAfterMs ?? 0, RETRY_AFTER_MAX_MS));
}
