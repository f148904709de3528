/*
 * Whether this replica's clock is right, told from what the others announce. An announcement is judged only when it is
 * new, and by the time within which it must have been written: a slow store, a slow reader and a long pause of either
 * widen that time and raise no alarm.
 */

/** What a replica announced, as it was read. */
export interface Announced {
  readonly replicaId: string;
  readonly revision: number;
  /** Its wall clock when it wrote, in milliseconds. */
  readonly clock: number;
}

/** By own clock: everything that this look shows for the first time was written in between. */
export interface LookedIn {
  readonly from: number;
  readonly to: number;
}

export interface JudgedClock {
  readonly revision: number;
  /** How far it is off at least; negative when it is behind this replica's. */
  readonly skewMs: number;
}
export type JudgedClocks = ReadonlyMap<string, JudgedClock>;

export const CLOCK_SKEW_MS_MAX = 30_000;
/** One that is met for the first time lives, and so has written within about its time to live. */
const FIRST_MET_AGE_MS = 60_000;

/** What is known of the others' clocks after a look: the new announcements judged, the others as before. */
export function judgeClocks(before: JudgedClocks, others: readonly Announced[], looked: LookedIn): JudgedClocks {
  const judged = new Map<string, JudgedClock>();
  for (const { replicaId, revision, clock } of others) {
    const known = before.get(replicaId);
    if (known?.revision === revision) judged.set(replicaId, known);
    else {
      const from = known ? looked.from : Math.min(looked.from, looked.to - FIRST_MET_AGE_MS);
      judged.set(replicaId, { revision, skewMs: outside(clock, from, looked.to) });
    }
  }
  return judged;
}

function outside(value: number, from: number, to: number): number {
  if (value > to) return value - to;
  return value < from ? value - from : 0;
}

/** Of the one that is off the most; 0 where nobody is. */
export function greatestSkewMs(judged: JudgedClocks): number {
  let greatest = 0;
  for (const { skewMs } of judged.values()) greatest = Math.max(greatest, Math.abs(skewMs));
  return greatest;
}

/**
 * Whether at least as many replicas contradict this one as agree with it, itself among these: one wrong clock among
 * three stops itself alone, and of two nobody can tell which one is wrong.
 */
export function outvoted(judged: JudgedClocks): boolean {
  const contradicting = [...judged.values()].filter(({ skewMs }) => Math.abs(skewMs) > CLOCK_SKEW_MS_MAX).length;
  return contradicting > 0 && contradicting >= judged.size - contradicting + 1;
}
