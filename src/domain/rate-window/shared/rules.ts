import { LIMITS } from '../../limits.ts';

/*
 * The numbers of the shared window. Together they keep H13: a unit counts for at least 60 s, and for no more than 62.5
 * s (60 s, what clocks may go wrong by, a bucket, the second after which a replica looks at the store's revision where
 * its watch is silent, and the time that a charge may take).
 */

/** The numbers that the window's decisions go by: a parameter, so that the simulation can break one and must notice. */
export interface WindowRules {
  readonly requestsMax: number;
  /** Units that are spent within a bucket are recorded together. */
  readonly bucketMs: number;
  /** How long a unit counts on the replica that admitted it, while nobody shares the window. */
  readonly countsMs: number;
  /** The same while others share it, and how long it counts for them: monotonic clocks differ in their rates. */
  readonly ownCountsMs: number;
  readonly othersCountMs: number;
  /** How long a lease that was never settled counts after its end, as if all of it had been spent then. */
  readonly endedCountsMs: number;

  /**
   * With more than these left a replica takes an allotment ahead; with fewer, unless alone, it charges what it admits.
   */
  readonly allotmentAboveLeft: number;
  /** The most units of one allotment, and of the first one of a replica whose recent use does not call for more. */
  readonly allotmentMax: number;
  readonly firstMax: number;
  /** The second allotment within a minute has at least so many units, where they are free. */
  readonly secondMin: number;
  /** The part of what is free that a first allotment, or one of the last units, leaves to others. */
  readonly reserved: number;
  /** A replica whose allotment is smaller than this recalls one of another replica at once. */
  readonly scantMax: number;
  /** The units admitted within this time predict what the next allotment will need. */
  readonly recentMs: number;
  /** An allotment ends this long after it was requested: by the record, and for its holder. */
  readonly allotmentRecordedMs: number;
  readonly allotmentUsedMs: number;
  /** An allotment is settled this long before its end. */
  readonly settledBeforeMs: number;
  /** A charge ends this long after it was requested, or after a few round trips of a slow store, up to the maximum. */
  readonly chargeMs: number;
  readonly chargeMsMax: number;
  /** Other replicas have this long to return a recalled allotment. */
  readonly recallMs: number;
}

const BUCKET_MS = 250;
/**
 * Twice the rate by which time servers correct a clock at most, 500 ppm, over all that is measured of a unit: a minute
 * by the reader, a minute by the replica that told the reader the age of a revision, and half a minute by the spender.
 */
const RATES_DIFFER_MS = 100;
const ALLOTMENT_MS = 31_500;

export const WINDOW_RULES: WindowRules = {
  requestsMax: LIMITS.requestsPerWindowMax,
  bucketMs: BUCKET_MS,
  countsMs: LIMITS.rateWindowMs,
  ownCountsMs: LIMITS.rateWindowMs + RATES_DIFFER_MS,
  othersCountMs: LIMITS.rateWindowMs + RATES_DIFFER_MS,
  endedCountsMs: LIMITS.rateWindowMs + RATES_DIFFER_MS,
  allotmentAboveLeft: 200,
  allotmentMax: 200,
  firstMax: 40,
  secondMin: 160,
  reserved: 0.4,
  scantMax: 40,
  recentMs: 25_000,
  allotmentRecordedMs: ALLOTMENT_MS,
  allotmentUsedMs: ALLOTMENT_MS,
  settledBeforeMs: 1000,
  chargeMs: 500,
  chargeMsMax: 1500,
  recallMs: 1000,
};

/** No lease ends later than this after its commit: one that seems to would count for ever, and is damaged. */
export const LEASE_AHEAD_MS_MAX = 60_000;

/** Requests of an account that wait for its window on one replica; further ones are rejected with 502. */
export const RATE_WAITING_MAX = 2000;
