import type { AttemptMetrics } from '../access-audit/failed-attempts.ts';

/*
 * The metrics of enrollments, shared credentials, held polls and heartbeats: the verbs that are called, and the closed
 * sets of labels.
 */

/** How an attempt to enroll ends. The daemon is told no more than `invalid_code`. */
export const ENROLLMENT_RESULTS = [
  'enrolled',
  /** It proved a credential that was bound to another app provisionally. */
  'took_over',
  'replayed',
  'unknown_app',
  'unknown_code',
  'used_code',
  'voided_code',
  'expired_code',
  'malformed_code',
  'bound_credential',
  'account_disabled',
] as const;
export type EnrollmentResult = (typeof ENROLLMENT_RESULTS)[number];

export interface EnrollmentMetrics extends AttemptMetrics {
  enrollmentEnded(result: EnrollmentResult): void;
}

export interface SharingMetrics {
  /** Machines that share a credential were found, and the audit was told. */
  credentialShared(): void;
}

/** The bound for which a held poll ends early, or, at that of the replica, is not held. */
export const HELD_POLL_BOUNDS = ['credential', 'account', 'replica'] as const;
type HeldPollBound = (typeof HELD_POLL_BOUNDS)[number];

export interface HeldPollMetrics {
  heldPollEnded(bound: HeldPollBound): void;
}

/** How the write of one account's heartbeat record ends. */
export const HEARTBEAT_RESULTS = ['written', 'conflict', 'failed'] as const;
type HeartbeatResult = (typeof HEARTBEAT_RESULTS)[number];

export interface HeartbeatMetrics {
  /** @param bytes of the records that were sent; 0 where the write failed */
  heartbeatsFlushed(accounts: number, bytes: number, result: HeartbeatResult): void;
}
