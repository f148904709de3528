import type { Sections } from '../../metrics/instruments/sections.ts';
import type { AttemptMetrics } from '../access-audit/failed-attempts.ts';

/*
 * The metrics of enrollments, shared credentials, held polls and heartbeats: the verbs that are called, and the closed
 * sets of labels.
 */

/** How an attempt to enroll ends. The daemon is told no more than `invalid_code`. */
const ENROLLMENT_RESULTS = [
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

export const enrollmentMetrics = ({ fleet }: Sections) => ({
  enrollmentEnded: fleet.counterOf({
    name: 'muster_enrollments_total',
    help: 'Attempts to enroll, by result; the daemon is told no more than invalid_code.',
    labels: { result: ENROLLMENT_RESULTS },
    unit: 'attempts',
  }),
});
export type EnrollmentMetrics = ReturnType<typeof enrollmentMetrics> & AttemptMetrics;

export const sharingMetrics = ({ opamp }: Sections) => ({
  credentialShared: opamp.counter({
    name: 'muster_opamp_shared_credentials_total',
    help: 'Times that machines were found to share a credential, by OpAMP or not, once an hour at most for each app.',
    unit: 'findings',
  }),
});
export type SharingMetrics = ReturnType<typeof sharingMetrics>;

/** The bound for which a held poll ends early, or, at that of the replica, is not held. */
const HELD_POLL_BOUNDS = ['credential', 'account', 'replica'] as const;

export const heldPollMetrics = ({ fleet }: Sections) => ({
  heldPolls: fleet.callbackGauge({
    name: 'muster_held_polls',
    help: 'Polls held until the configuration changes.',
    unit: 'polls',
  }),
  heldPollEnded: fleet.counterOf({
    name: 'muster_held_polls_ended_total',
    help: 'Held polls that ended for a newer one of their credential or another account; replica: polls not held, as all places were taken.',
    labels: { bound: HELD_POLL_BOUNDS },
    unit: 'polls',
  }),
});
export type HeldPollMetrics = Pick<ReturnType<typeof heldPollMetrics>, 'heldPollEnded'>;

/** How the write of one account's heartbeat record ends. */
const HEARTBEAT_RESULTS = ['written', 'conflict', 'failed'] as const;
type HeartbeatResult = (typeof HEARTBEAT_RESULTS)[number];

export function heartbeatMetrics({ fleet }: Sections) {
  const flushes = fleet.counterOf({
    name: 'muster_heartbeat_flushes_total',
    help: 'Heartbeat records written, by result; one record holds the devices of one account.',
    labels: { result: HEARTBEAT_RESULTS },
    unit: 'records',
  });
  const flushedBytes = fleet.counter({
    name: 'muster_heartbeat_flushed_bytes_total',
    help: 'Bytes of heartbeat records written.',
    unit: 'bytes',
  });
  return {
    /** @param bytes of the records that were sent; 0 where the write failed */
    heartbeatsFlushed(accounts: number, bytes: number, result: HeartbeatResult): void {
      flushes(result, accounts);
      flushedBytes(bytes);
    },
  };
}
export type HeartbeatMetrics = ReturnType<typeof heartbeatMetrics>;
