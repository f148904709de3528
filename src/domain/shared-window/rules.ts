import { LIMITS } from '../limits.ts';

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
  /** How long a hold that was never settled counts after its end, as if all of it had been spent then. */
  readonly endedCountsMs: number;
  /** How far the wall clocks of two replicas differ at most. */
  readonly clocksDifferMs: number;

  /** With more than these left a replica takes a slice ahead; with fewer it charges what it admits. */
  readonly sliceAboveLeft: number;
  /** Of one replica. Where no pace is known, those that serve the account share it, up to so much for each. */
  readonly sliceMax: number;
  readonly shareMax: number;
  /** A slice is meant to last so long at the pace of the one before it. */
  readonly sliceForMs: number;
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
const SLICE_MS = 30_000;

export const WINDOW_RULES: WindowRules = {
  requestsMax: LIMITS.requestsPerWindowMax,
  bucketMs: BUCKET_MS,
  bucketCountsMs: BUCKET_MS + LIMITS.rateWindowMs + CLOCKS_DIFFER_MS,
  endedCountsMs: LIMITS.rateWindowMs + CLOCKS_DIFFER_MS,
  clocksDifferMs: CLOCKS_DIFFER_MS,
  sliceAboveLeft: 200,
  sliceMax: 200,
  shareMax: 100,
  sliceForMs: 25_000,
  sliceToldMs: SLICE_MS,
  sliceUsedMs: SLICE_MS,
  settledBeforeMs: 2000,
  chargeMs: 250,
  chargeMsMax: 1500,
  recallMs: 250,
};

/** Requests of an account that wait for its window on one replica; above that they are turned away with 502. */
export const RATE_WAITING_MAX = 2000;
