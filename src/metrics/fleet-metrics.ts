import type { Registry } from 'prom-client';
import { POLL_RESULTS, type PollMetrics } from '../api/device/metrics.ts';
import type { PurgeMetrics } from '../controller/metrics.ts';
import {
  ENROLLMENT_RESULTS,
  HEARTBEAT_RESULTS,
  type EnrollmentMetrics,
  type HeartbeatMetrics,
} from '../domain/devices/metrics.ts';
import { MUTATION_ACTIONS, type MutationMetrics } from '../domain/mutation/metrics.ts';
import { counterOf, lazyCounterOf, plainCounter, plainGauge } from './instruments.ts';

/** The verbs of the device plane and of changes. */
export type FleetMetrics = EnrollmentMetrics &
  HeartbeatMetrics &
  Pick<PollMetrics, 'pollEnded'> &
  Pick<MutationMetrics, 'mutationCommitted'> &
  Pick<PurgeMetrics, 'purgesAwaitKeyRetirement'>;

export function fleetMetrics(registers: Registry[]): FleetMetrics {
  const flushes = counterOf(registers, {
    name: 'muster_heartbeat_flushes_total',
    help: 'Heartbeat records written, by result; one record holds the devices of one account.',
    label: 'result',
    values: HEARTBEAT_RESULTS,
  });
  const flushedBytes = plainCounter(
    registers,
    'muster_heartbeat_flushed_bytes_total',
    'Bytes of heartbeat records written.',
  );
  return {
    enrollmentEnded: counterOf(registers, {
      name: 'muster_enrollments_total',
      help: 'Enrollment attempts by result; the daemon is told no more than invalid_code.',
      label: 'result',
      values: ENROLLMENT_RESULTS,
    }),
    pollEnded: lazyCounterOf(registers, {
      name: 'muster_polls_total',
      help: 'Configuration polls by result.',
      label: 'result',
      values: POLL_RESULTS,
    }),
    mutationCommitted: counterOf(registers, {
      name: 'muster_mutations_total',
      help: 'Changes committed, by action.',
      label: 'action',
      values: MUTATION_ACTIONS,
    }),
    heartbeatsFlushed(accounts, bytes, result) {
      flushes(result, accounts);
      flushedBytes(bytes);
    },
    purgesAwaitKeyRetirement: plainGauge(
      registers,
      'muster_purges_awaiting_key_retirement',
      'Purged secrets whose ciphertext may still lie in logs and backups, readable until their key is retired; on the leader alone.',
    ),
  };
}
