import { LIMITS } from '../../limits.ts';

/*
 * The numbers of the shared window. Together they keep H13: a unit counts for at least 60 s, and for no more than 62.5 s
 * (60 s, a bucket, twice the difference of two clocks, and the time that a charge may take).
 */

/** What the window's decisions go by; a parameter, so that the simulation can break one and must notice. */
export interface WindowRules {
  readonly requestsMax: number;
  /** Spent units are told by the bucket of the wall clock that they were spent in. */
  readonly bucketMs: number;
  /** How long a bucket counts from its begin, by another's clock. */
  readonly bucketCountsMs: number;
  /** How long a unit counts on the replica that admitted it. */
  readonly ownCountsMs: number;
  /** How long a hold that was never settled counts after its end, as if all of it had been spent then. */
  readonly endedCountsMs: number;
  /** How far the wall clocks of two replicas differ at most. */
  readonly clocksDifferMs: number;

  /** With more than these left a replica takes a slice ahead; with fewer it charges what it admits. */
  readonly sliceAboveLeft: number;
  /** A slice of one replica has no more; the first one that no earlier use speaks for no more than the next. */
  readonly sliceMax: number;
  readonly firstMax: number;
  /** The second one within a minute has at least so many, where that is free. */
  readonly secondMin: number;
  /** Of what is free, the part that a first slice leaves to others. */
  readonly reserved: number;
  /** With less than this a slice is scant: its holder asks for what another one holds at once. */
  readonly scantMax: number;
  /** The use of so long a time tells what a slice will need. */
  readonly latelyMs: number;
  /** A slice ends so long after it was asked for: what is told to the others, and what its holder goes by. */
  readonly sliceToldMs: number;
  readonly sliceUsedMs: number;
  /** A slice is settled so long before its end. */
  readonly settledBeforeMs: number;
  /** A charge ends so long after it was asked for, or a few round trips of a slow store, up to the maximum. */
  readonly chargeMs: number;
  readonly chargeMsMax: number;
  /** Others have so long to return their slices. */
  readonly recallMs: number;
}

const BUCKET_MS = 250;
const CLOCKS_DIFFER_MS = 1000;
const SLICE_MS = 31_500;

export const WINDOW_RULES: WindowRules = {
  requestsMax: LIMITS.requestsPerWindowMax,
  bucketMs: BUCKET_MS,
  bucketCountsMs: BUCKET_MS + LIMITS.rateWindowMs + CLOCKS_DIFFER_MS,
  ownCountsMs: LIMITS.rateWindowMs,
  endedCountsMs: LIMITS.rateWindowMs + CLOCKS_DIFFER_MS,
  clocksDifferMs: CLOCKS_DIFFER_MS,
  sliceAboveLeft: 200,
  sliceMax: 200,
  firstMax: 40,
  secondMin: 160,
  reserved: 0.4,
  scantMax: 40,
  latelyMs: 25_000,
  sliceToldMs: SLICE_MS,
  sliceUsedMs: SLICE_MS,
  settledBeforeMs: 1000,
  chargeMs: 500,
  chargeMsMax: 1500,
  recallMs: 1000,
};

/** Requests of an account that wait for its window on one replica; above that they are turned away with 502. */
export const RATE_WAITING_MAX = 2000;
