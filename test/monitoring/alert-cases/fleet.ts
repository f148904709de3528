import { gauge, JOB, REPLICA, type AlertCases } from './case.ts';

export const FLEET_CASES: AlertCases = {
  MusterConfigDeliverySlow: {
    fires: {
      why: 'a fifth has not acknowledged it',
      series: {
        ...gauge('muster_rollout_devices', '20x60', 'instance="a",state="pending"'),
        ...gauge('muster_rollout_devices', '80x60', 'instance="a",state="applied"'),
      },
      at: '20m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'all have, but those that do not poll',
        series: {
          ...gauge('muster_rollout_devices', '0x60', 'instance="a",state="pending"'),
          ...gauge('muster_rollout_devices', '80x60', 'instance="a",state="applied"'),
          ...gauge('muster_rollout_devices', '50x60', 'instance="a",state="stale"'),
        },
        at: '20m',
      },
      {
        why: 'it has just been changed',
        series: {
          ...gauge('muster_rollout_devices', '100 50 10 0x60', 'instance="a",state="pending"'),
          ...gauge('muster_rollout_devices', '0 50 90 100x60', 'instance="a",state="applied"'),
        },
        at: '20m',
      },
    ],
  },
  MusterConfigRejected: {
    fires: {
      why: 'a tenth could not apply it',
      series: {
        ...gauge('muster_rollout_devices', '10x60', 'instance="a",state="failed"'),
        ...gauge('muster_rollout_devices', '90x60', 'instance="a",state="applied"'),
      },
      at: '20m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'one in a hundred could not',
        series: {
          ...gauge('muster_rollout_devices', '1x60', 'instance="a",state="failed"'),
          ...gauge('muster_rollout_devices', '99x60', 'instance="a",state="applied"'),
        },
        at: '20m',
      },
    ],
  },
  MusterEnrollmentsFailing: {
    fires: {
      why: 'codes that have expired are tried again and again',
      series: {
        ...gauge('muster_enrollments_total', '0+5x60', 'result="expired_code"'),
        ...gauge('muster_enrollments_total', '0+1x60', 'result="enrolled"'),
      },
      at: '30m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'a roll-out in which few fail',
        series: {
          ...gauge('muster_enrollments_total', '0+5x60', 'result="expired_code"'),
          ...gauge('muster_enrollments_total', '0+50x60', 'result="enrolled"'),
        },
        at: '30m',
      },
      {
        why: 'somebody mistyped a code, and mended it',
        series: {
          ...gauge('muster_enrollments_total', '0 1 2 3x60', 'result="unknown_code"'),
          ...gauge('muster_enrollments_total', '0x5 1x60', 'result="enrolled"'),
        },
        at: '10m',
      },
      {
        why: 'replays of a lost answer are successes',
        series: gauge('muster_enrollments_total', '0+5x60', 'result="replayed"'),
        at: '30m',
      },
    ],
  },
  MusterAccountsLimited: {
    fires: { why: 'for 40 minutes', series: gauge('muster_rate_limited_accounts', '1x60'), at: '40m' },
    labels: JOB,
    quiet: [{ why: 'for ten minutes', series: gauge('muster_rate_limited_accounts', '1x10 0x60'), at: '40m' }],
  },
  MusterRateWindowBlind: {
    fires: { why: 'a minute old', series: gauge('muster_rate_shared_age_seconds', '60x30'), at: '10m' },
    labels: REPLICA,
    quiet: [{ why: 'the watch was opened again', series: gauge('muster_rate_shared_age_seconds', '20x30'), at: '10m' }],
  },
  MusterHeartbeatsNotWritten: {
    fires: {
      why: 'every flush fails',
      series: gauge('muster_heartbeat_flushes_total', '0+6x60', 'result="failed"'),
      at: '30m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'a conflict is written with the next flush',
        series: gauge('muster_heartbeat_flushes_total', '0+6x60', 'result="conflict"'),
        at: '30m',
      },
    ],
  },
  MusterDetectionsDropped: {
    fires: { why: 'five were', series: gauge('muster_detections_dropped_total', '0x10 5x30'), at: '20m' },
    labels: JOB,
    quiet: [{ why: 'none was', series: gauge('muster_detections_dropped_total', '0x30'), at: '20m' }],
  },
};
