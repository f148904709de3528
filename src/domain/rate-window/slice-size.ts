/*
 * How many units a slice has. They are on disk before the first of them is spent, so an account that is used much
 * should need few slices; and all of them count as spent after a crash, so one that is used little gets a small one.
 */

/** The most units of a slice, and so the most that count as spent after a crash without having been (H13). */
const SLICE_UNITS_MAX = 200;
/** The first slice within a minute has so many, unless more are needed; the second one at least so many. */
const FIRST_UNITS = 40;
const SECOND_UNITS_MIN = 160;
/** The units admitted within this time predict what the next slice needs: half as many again. */
export const RECENT_MS = 25_000;

interface SliceDemand {
  /** The slices that the account took within the last minute. */
  readonly taken: number;
  /** The units admitted within the last `RECENT_MS`. */
  readonly recent: number;
  /** The requests that wait for this slice. */
  readonly waiting: number;
}

export function sliceUnits({ taken, recent, waiting }: SliceDemand): number {
  if (taken >= 2) return SLICE_UNITS_MAX;
  const least = taken === 1 ? SECOND_UNITS_MIN : FIRST_UNITS;
  return Math.min(SLICE_UNITS_MAX, Math.max(least, Math.ceil(1.5 * recent), waiting));
}
