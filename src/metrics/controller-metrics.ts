import {
  LOOP_NAMES,
  LOOP_RESULTS,
  TERM_ENDS,
  type AuditSealMetrics,
  type BackupAgeMetrics,
  type LeaderMetrics,
  type LoopMetrics,
  type MeteringMetrics,
  type PurgeMetrics,
  type RewrapMetrics,
  type SweeperMetrics,
} from '../controller/metrics.ts';
import type { AuditedAttemptsMetrics } from '../domain/access-audit/audited-attempts.ts';
import { EXPORTS, type ExportMetrics } from '../domain/access-audit/audited-exports.ts';
import { SWEEPS } from '../domain/features.ts';
import type { KeyRotationMetrics } from '../domain/key-rotation/key-rotation.ts';
import type { ReplicaMetrics } from '../domain/replicas/replicas.ts';
import { SECONDS, type Section } from './instruments.ts';
import { NIGHT_LATE } from './labels.ts';

interface ClockMetrics {
  /** @param read called at each scrape: whether this replica may end a day by its clock */
  clockTrusted(read: () => boolean): void;
  /** @param read called at each scrape: the wall clock of this replica, in seconds since 1970 */
  wallClock(read: () => number): void;
}
type LoopsMetrics = LoopMetrics & LeaderMetrics & ReplicaMetrics & AuditSealMetrics & SweeperMetrics & ClockMetrics;
type KeyMetrics = KeyRotationMetrics & RewrapMetrics & Pick<PurgeMetrics, 'purgesAwaitKeyRetirement'>;
type KeepingMetrics = BackupAgeMetrics & Pick<PurgeMetrics, 'oldestPurgeAge'> & ExportMetrics & AuditedAttemptsMetrics;

/** The verbs of the loops, of the leader's work, and of the registry of replicas. */
export interface ControllerMetrics extends LoopsMetrics, MeteringMetrics, KeyMetrics, KeepingMetrics {}

export function controllerMetrics(section: (title: string) => Section): ControllerMetrics {
  return {
    ...loopMetrics(section('Controller')),
    ...meteringMetrics(section('Metering')),
    ...keyMetrics(section('Keys')),
    ...keepingMetrics(section('Backups, exports and purges')),
  };
}

function loopMetrics(controller: Section): LoopsMetrics {
  const loops = controller.histogram({
    name: 'muster_loop_duration_seconds',
    help: 'Duration of the rounds of the background loops, by loop and result.',
    labels: { loop: LOOP_NAMES, result: LOOP_RESULTS },
    buckets: SECONDS,
    unit: 'seconds',
  });
  const leading = controller.gauge({
    name: 'muster_controller_leading',
    help: '1 on the replica whose controller leads.',
    unit: '0 or 1',
  });
  return {
    loopEnded: (loop, result, seconds) => loops.labels(loop, result).observe(seconds),
    leads: (is) => leading(is ? 1 : 0),
    termEnded: controller.counterOf({
      name: 'muster_controller_terms_total',
      help: 'Terms of leadership that ended, by reason.',
      labels: { why: TERM_ENDS },
      unit: 'terms',
    }),
    auditSealed: controller.counter({
      name: 'muster_audit_sealed_total',
      help: 'Audit entries put into the chain of their account.',
      unit: 'entries',
    }),
    cleaned: controller.counterOf({
      name: 'muster_cleaned_total',
      help: 'Expired records that the clean-up removed, by kind.',
      labels: { what: SWEEPS.map(([what]) => what) },
      unit: 'things',
    }),
    ...replicaMetrics(controller),
  };
}

function replicaMetrics(controller: Section): ReplicaMetrics & ClockMetrics {
  let trusted = (): boolean => true;
  let wallClock = (): number => Number.NaN;
  controller.callbackGauge(
    {
      name: 'muster_wall_clock_seconds',
      help: "The wall clock of this replica at the scrape; against the time of the sample it tells how far it is from Prometheus'.",
      unit: 'seconds',
    },
    () => wallClock(),
  );
  controller.callbackGauge(
    {
      name: 'muster_clock_trusted',
      help: '1 while this replica may end a day by its clock; 0 after a jump of more than 30 s, or against the others.',
      unit: '0 or 1',
    },
    () => (trusted() ? 1 : 0),
  );
  return {
    replicasLive: controller.gauge({
      name: 'muster_replicas',
      help: 'Live replicas, as this one sees them.',
      unit: 'replicas',
    }),
    operatorTokensDiffer: controller.gauge({
      name: 'muster_replicas_with_other_operator_tokens',
      help: 'Live replicas whose operator tokens are other ones than those of this one.',
      unit: 'replicas',
    }),
    clockSkew: controller.gauge({
      name: 'muster_clock_skew_seconds',
      help: 'The least difference of clocks that explains what other replicas wrote or answered, for the one that differs most.',
      unit: 'seconds',
    }),
    clockTrusted(read) {
      trusted = read;
    },
    wallClock(read) {
      wallClock = read;
    },
  };
}

function meteringMetrics(metering: Section): MeteringMetrics {
  const nights = metering.counterOf({
    name: 'muster_metering_nights_total',
    help: 'Nights metered by this process, by whether it was more than an hour after their midnight.',
    labels: { late: NIGHT_LATE },
    unit: 'nights',
  });
  const lastNight = metering.gauge({
    name: 'muster_metering_last_night_timestamp_seconds',
    help: 'The midnight that ended the last night that is metered for every account; on a replica that led.',
    unit: 'seconds',
  });
  const nightSeconds = metering.gauge({
    name: 'muster_metering_night_seconds',
    help: 'Duration of the last night that this process metered, its pauses included.',
    unit: 'seconds',
  });
  return {
    nightMetered({ late, endedAt, seconds }) {
      nights(late ? 'true' : 'false');
      lastNight(endedAt);
      nightSeconds(seconds);
    },
    meteredThrough: (endedAt) => lastNight(endedAt),
  };
}

function keyMetrics(keys: Section): KeyMetrics {
  return {
    keyRotated: keys.counter({
      name: 'muster_key_rotations_total',
      help: 'Rotations of the key-encryption key that this replica made.',
      unit: 'rotations',
    }),
    rewrapped: keys.counter({
      name: 'muster_rewrapped_total',
      help: 'Secrets whose data key was wrapped again under the active key.',
      unit: 'secrets',
    }),
    purgesAwaitKeyRetirement: keys.gauge({
      name: 'muster_purges_awaiting_key_retirement',
      help: 'Purged secrets whose ciphertext logs and backups may still hold, until their key is retired; on the leader alone.',
      unit: 'secrets',
    }),
  };
}

/** A series is there on the leader alone, so that 0 is told by nobody who does not know. */
function keepingMetrics(section: Section): KeepingMetrics {
  let [backup, oldest]: [number | undefined, (() => number) | undefined] = [undefined, undefined];
  const alone = (name: string, help: string, read: () => number | undefined): void =>
    section.labelledCallbackGauge({ name, help, labels: {}, unit: 'seconds' }, () => {
      const value = read();
      return value === undefined ? [] : [[{}, value] as const];
    });
  alone(
    'muster_backup_last_timestamp_seconds',
    'When the store was as the last backup has it that was sent whole, 0 where there is none; on the leader alone.',
    () => backup,
  );
  alone(
    'muster_purge_oldest_age_seconds',
    "Time since the oldest purge that the store's history may still hold, 0 where there is none; on the leader alone.",
    () => oldest?.(),
  );
  return {
    exported: section.counterOf({
      name: 'muster_exports_total',
      help: 'Exports that began, by what was exported; each is an entry in the audit of the service.',
      labels: { export: EXPORTS },
      unit: 'exports',
    }),
    attemptsDropped: section.counter({
      name: 'muster_audit_attempts_dropped_total',
      help: 'Audit entries about failed secrets that were not written, since the store was too full.',
      unit: 'entries',
    }),
    lastBackup(timestampSeconds) {
      backup = timestampSeconds;
    },
    oldestPurgeAge(read) {
      oldest = read;
    },
  };
}
