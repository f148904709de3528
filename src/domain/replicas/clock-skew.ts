/*
 * Judges this replica's clock by the announcements of the others. An announcement is judged only when it is new,
 * against the interval in which it must have been written: a slow store, a slow reader and a long pause of either widen
 * that interval and raise no alarm.
 */

/** The announcement of another replica, as it was read. */
interface Announced {
  readonly replicaId: string;
  readonly revision: number;
  /** Its wall clock when it wrote, in milliseconds. */
  readonly clock: number;
}

/**
 * The interval, by the own wall clock, in which every announcement was written that this read shows for the first time.
 */
interface ReadInterval {
  readonly from: number;
  readonly to: number;
}

interface JudgedClock {
  readonly revision: number;
  /** How far the clock is off at least, in milliseconds; negative when it is behind this replica's. */
  readonly skewMs: number;
}
export type JudgedClocks = ReadonlyMap<string, JudgedClock>;

export const CLOCK_SKEW_MS_MAX = 30_000;
/** A replica that is seen for the first time is alive, and so has written within about its time to live. */
const FIRST_MET_AGE_MS = 60_000;

/**
 * Returns the judged clocks after a read: new announcements are judged, the others stay as they were.
 * @param metSince the earliest instant at which a replica that is seen for the first time has written
 */
export function judgeClocks(
  before: JudgedClocks,
  others: readonly Announced[],
  interval: ReadInterval,
  metSince = interval.to - FIRST_MET_AGE_MS,
): JudgedClocks {
  const judged = new Map<string, JudgedClock>();
  for (const { replicaId, revision, clock } of others) {
    const known = before.get(replicaId);
    if (known?.revision === revision) judged.set(replicaId, known);
    else {
      const from = known ? interval.from : Math.min(interval.from, metSince);
      judged.set(replicaId, { revision, skewMs: outside(clock, from, interval.to) });
    }
  }
  return judged;
}

function outside(value: number, from: number, to: number): number {
  if (value > to) return value - to;
  return value < from ? value - from : 0;
}

/** The skew of the clock that is off the most, in milliseconds; 0 where none is. */
export function greatestSkewMs(judged: JudgedClocks): number {
  let greatest = 0;
  for (const { skewMs } of judged.values()) greatest = Math.max(greatest, Math.abs(skewMs));
  return greatest;
}

/**
 * Tells whether at least as many replicas contradict this one as agree with it, itself among these: one wrong clock
 * among three outvotes itself alone, and of two neither can tell which one is wrong.
 */
export function outvoted(judged: JudgedClocks): boolean {
  const contradicting = [...judged.values()].filter(({ skewMs }) => Math.abs(skewMs) > CLOCK_SKEW_MS_MAX).length;
  return contradicting > 0 && contradicting >= judged.size - contradicting + 1;
}
