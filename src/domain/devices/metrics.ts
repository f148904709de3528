/* The metrics of enrollments and heartbeats: the verbs that it calls, and the closed sets of their labels. */

/** How an attempt to enroll ends. The daemon is told no more than `invalid_code`. */
export const ENROLLMENT_RESULTS = [
  'enrolled',
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

export interface EnrollmentMetrics {
  enrollmentEnded(result: EnrollmentResult): void;
}

/** How the write of one account's heartbeat record ends. */
export const HEARTBEAT_RESULTS = ['written', 'conflict', 'failed'] as const;
export type HeartbeatResult = (typeof HEARTBEAT_RESULTS)[number];

export interface HeartbeatMetrics {
  /** @param bytes of the records that were sent; 0 where the write failed */
  heartbeatsFlushed(accounts: number, bytes: number, result: HeartbeatResult): void;
}
