import { POLL_RESULTS, type PollMetrics } from '../api/device/metrics.ts';
import { ROLLOUT_STATES, type RolloutMetrics } from '../controller/metrics.ts';
import type { AttemptMetrics } from '../domain/access-audit/failed-attempts.ts';
import {
  ENROLLMENT_RESULTS,
  HEARTBEAT_RESULTS,
  HELD_POLL_BOUNDS,
  type EnrollmentMetrics,
  type HeartbeatMetrics,
  type HeldPollMetrics,
} from '../domain/devices/metrics.ts';
import { MUTATION_ACTIONS } from '../domain/mutation/actions.ts';
import type { MutationMetrics } from '../domain/mutation/metrics.ts';
import type { DetectionMetrics } from '../domain/review-queue/detections.ts';
import type { ReadGauges } from './callback-gauges.ts';
import type { Section } from './instruments.ts';

/** The verbs of the device plane, of changes, and of how configurations reach the devices. */
export interface FleetMetrics
  extends
    Omit<EnrollmentMetrics, keyof AttemptMetrics>,
    HeartbeatMetrics,
    HeldPollMetrics,
    PollMetrics,
    DetectionMetrics,
    RolloutMetrics,
    Pick<MutationMetrics, 'mutationCommitted'> {}

/** The buckets reach from a held poll to a device that was off for a day. */
const LAG_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600, 21_600, 86_400];

export function fleetMetrics(section: (title: string) => Section, read: ReadGauges): FleetMetrics {
  const fleet = section('Fleet');
  callbackGauges(fleet, read);
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
    enrollmentEnded: fleet.counterOf({
      name: 'muster_enrollments_total',
      help: 'Attempts to enroll, by result; the daemon is told no more than invalid_code.',
      labels: { result: ENROLLMENT_RESULTS },
      unit: 'attempts',
    }),
    pollEnded: fleet.bufferedCounterOf({
      name: 'muster_polls_total',
      help: 'Polls of the configuration, by result.',
      labels: { result: POLL_RESULTS },
      unit: 'polls',
    }),
    heldPollEnded: fleet.counterOf({
      name: 'muster_held_polls_ended_total',
      help: 'Held polls that ended for a newer one of their credential or another account; replica: polls not held, as all places were taken.',
      labels: { bound: HELD_POLL_BOUNDS },
      unit: 'polls',
    }),
    mutationCommitted: fleet.counterOf({
      name: 'muster_mutations_total',
      help: 'Changes committed, by action.',
      labels: { action: MUTATION_ACTIONS },
      unit: 'changes',
    }),
    heartbeatsFlushed(accounts, bytes, result) {
      flushes(result, accounts);
      flushedBytes(bytes);
    },
    detectionsDropped: fleet.counter({
      name: 'muster_detections_dropped_total',
      help: 'Entries of the review queue that were dropped to make room for newer ones of the same app.',
      unit: 'entries',
    }),
    ...deliveryMetrics(section('Delivery')),
  };
}

function callbackGauges(fleet: Section, read: ReadGauges): void {
  fleet.callbackGauge({ name: 'muster_accounts', help: 'Accounts.', unit: 'accounts' }, () => read()?.accounts() ?? 0);
  fleet.callbackGauge({ name: 'muster_apps', help: 'Apps of all accounts.', unit: 'apps' }, () => read()?.apps() ?? 0);
  fleet.callbackGauge(
    { name: 'muster_held_polls', help: 'Polls held until the configuration changes.', unit: 'polls' },
    () => read()?.heldPolls() ?? 0,
  );
}

function deliveryMetrics(delivery: Section): Pick<FleetMetrics, 'rolloutCounted' | 'revisionReceived'> {
  const rollout = delivery.labelledGauge({
    name: 'muster_rollout_devices',
    help: 'Cloud devices of Enterprise accounts, by what they did with the current configuration; on the leader alone.',
    labels: { state: ROLLOUT_STATES },
    unit: 'devices',
  });
  const lag = delivery.histogram({
    name: 'muster_rollout_receipt_lag_seconds',
    help: 'Time from a change of the configuration until a daemon that had an older one received it.',
    buckets: LAG_SECONDS,
    unit: 'seconds',
  });
  return {
    rolloutCounted(counts) {
      rollout.reset();
      if (counts) for (const state of ROLLOUT_STATES) rollout.set({ state }, counts[state]);
    },
    revisionReceived: (seconds) => lag.observe(seconds),
  };
}
