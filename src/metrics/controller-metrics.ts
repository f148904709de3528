import { Gauge, Histogram, type Registry } from 'prom-client';
import type { PollMetrics } from '../api/device/metrics.ts';
import {
  ROLLOUT_STATES,
  TERM_ENDS,
  type AuditSealMetrics,
  type LeaderMetrics,
  type MeteringMetrics,
  type RewrapMetrics,
  type RolloutMetrics,
  type SweeperMetrics,
} from '../controller/metrics.ts';
import { CLEANED } from '../domain/cleanup/sweep.ts';
import type { KeyRotationMetrics } from '../domain/key-rotation/key-rotation.ts';
import type { ReplicaMetrics } from '../domain/replicas/replicas.ts';
import type { DetectionMetrics } from '../domain/review-queue/detections.ts';
import { callbackGauge, counterOf, plainCounter, plainGauge } from './instruments.ts';
import { NIGHT_LATE } from './labels.ts';

/** The verbs of the controller, of the registry of replicas, and of what the leader does. */
export interface ControllerMetrics
  extends
    LeaderMetrics,
    SweeperMetrics,
    AuditSealMetrics,
    RewrapMetrics,
    RolloutMetrics,
    MeteringMetrics,
    ReplicaMetrics,
    KeyRotationMetrics,
    DetectionMetrics,
    Pick<PollMetrics, 'revisionReceived'> {
  /** @param read called at each scrape */
  clockTrusted(read: () => boolean): void;
}

const LAG_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600, 21_600, 86_400];

export function createControllerMetrics(registry: Registry): ControllerMetrics {
  const registers = [registry];
  const leading = plainGauge(registers, 'muster_controller_leading', '1 on the replica whose controller leads.');
  return {
    ...replicaMetrics(registers),
    ...upkeepMetrics(registers),
    ...nightMetrics(registers),
    ...rolloutMetrics(registers),
    leads: (is) => leading(is ? 1 : 0),
    termEnded: counterOf(registers, {
      name: 'muster_controller_terms_total',
      help: 'Ends of a leadership, by reason.',
      label: 'why',
      values: TERM_ENDS,
    }),
  };
}

function rolloutMetrics(
  registers: Registry[],
): Pick<ControllerMetrics, 'rolloutCounted' | 'revisionReceived' | 'detectionsDropped'> {
  const rollout = new Gauge({
    name: 'muster_rollout_devices',
    help: 'Cloud devices of Enterprise accounts by what they did with the current configuration; on the leader alone.',
    labelNames: ['state'],
    registers,
  });
  const lag = new Histogram({
    name: 'muster_rollout_receipt_lag_seconds',
    help: 'Time from a change of the configuration to when a daemon that had an older one was told it.',
    buckets: LAG_SECONDS,
    registers,
  });
  return {
    rolloutCounted(counts) {
      rollout.reset();
      if (counts) for (const state of ROLLOUT_STATES) rollout.set({ state }, counts[state]);
    },
    revisionReceived: (seconds) => lag.observe(seconds),
    detectionsDropped: plainCounter(
      registers,
      'muster_detections_dropped_total',
      'Entries of the review queue that were dropped to make room for newer ones of the same app.',
    ),
  };
}

function replicaMetrics(
  registers: Registry[],
): Pick<ControllerMetrics, 'replicasLive' | 'clockSkew' | 'keyRotated' | 'rewrapped'> {
  return {
    replicasLive: plainGauge(registers, 'muster_replicas', 'Replicas that live, as this one sees them.'),
    clockSkew: plainGauge(
      registers,
      'muster_clock_skew_seconds',
      'How far the clock of another replica is from this one at least: of the one that is off the most.',
    ),
    keyRotated: plainCounter(
      registers,
      'muster_key_rotations_total',
      'Rotations of the key-encryption key that this replica made.',
    ),
    rewrapped: plainCounter(
      registers,
      'muster_rewrapped_total',
      'Secrets whose data key was wrapped anew under the key that writes.',
    ),
  };
}

function nightMetrics(
  registers: Registry[],
): Pick<ControllerMetrics, 'nightMetered' | 'meteredThrough' | 'clockTrusted'> {
  const nights = counterOf(registers, {
    name: 'muster_metering_nights_total',
    help: 'Nights metered by this process, by whether more than an hour after their midnight.',
    label: 'late',
    values: NIGHT_LATE,
  });
  const lastNight = plainGauge(
    registers,
    'muster_metering_last_night_timestamp_seconds',
    'The midnight that ended the last night that is metered for every account; on a replica that led.',
  );
  const nightSeconds = plainGauge(
    registers,
    'muster_metering_night_seconds',
    'How long the last night took that this process metered, with its pauses.',
  );
  let trusted = (): boolean => true;
  callbackGauge(
    registers,
    'muster_clock_trusted',
    '1 while this replica may end a day by its clock; 0 after a jump of more than 30 s, or against the others.',
    () => (trusted() ? 1 : 0),
  );
  return {
    nightMetered({ late, endedAt, seconds }) {
      nights(late ? 'true' : 'false');
      lastNight(endedAt);
      nightSeconds(seconds);
    },
    meteredThrough: (endedAt) => lastNight(endedAt),
    clockTrusted(read) {
      trusted = read;
    },
  };
}

function upkeepMetrics(registers: Registry[]): Pick<ControllerMetrics, 'auditSealed' | 'cleaned'> {
  return {
    auditSealed: plainCounter(
      registers,
      'muster_audit_sealed_total',
      'Audit entries put into the chain of their account.',
    ),
    cleaned: counterOf(registers, {
      name: 'muster_cleaned_total',
      help: 'Expired things that the clean-up removed, by what they were.',
      label: 'what',
      values: CLEANED,
    }),
  };
}
