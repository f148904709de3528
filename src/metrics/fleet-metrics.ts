import type { Registry } from 'prom-client';
import { counterOf, lazyCounterOf, plainCounter, plainGauge } from './instruments.ts';
import {
  ENROLLMENT_RESULTS,
  HEARTBEAT_RESULTS,
  MUTATION_ACTIONS,
  POLL_RESULTS,
  type EnrollmentResult,
  type MutationAction,
  type PollResult,
} from './labels.ts';

/** What is said of daemons and of changes. */
export interface FleetMetrics {
  enrollmentEnded(result: EnrollmentResult): void;
  pollEnded(result: PollResult): void;
  mutationCommitted(action: MutationAction): void;
  heartbeatsFlushed(accounts: number, bytes: number, result: (typeof HEARTBEAT_RESULTS)[number]): void;
  purgesAwaitKeyRetirement(count: number): void;
}

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
