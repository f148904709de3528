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
  MusterAccountRolloutFailing: {
    fires: {
      why: 'ten of ten daemons of one account failed, of 1,000 accounts with ten each',
      series: {
        ...gauge('muster_rollout_devices', '10x60', 'instance="a",state="failed"'),
        ...gauge('muster_rollout_devices', '9990x60', 'instance="a",state="applied"'),
        ...gauge('muster_rollout_failing_accounts', '1x60'),
        ...gauge('muster_rollout_top_devices', '10x60', 'instance="a",account="acme",state="failed"'),
        ...gauge('muster_rollout_top_failed_ratio', '1x60', 'instance="a",account="acme"'),
      },
      at: '20m',
    },
    alsoFires: [
      {
        why: 'another replica leads meanwhile, and counts a minute later',
        series: {
          ...gauge('muster_rollout_failing_accounts', '1x10 0x60', 'instance="a"'),
          ...gauge('muster_rollout_failing_accounts', '0x12 1x60', 'instance="b"'),
          ...gauge('muster_rollout_top_failed_ratio', '1x10 stale', 'instance="a",account="acme"'),
          ...gauge('muster_rollout_top_failed_ratio', '_x12 1x60', 'instance="b",account="acme"'),
        },
        at: '20m',
      },
    ],
    labels: { ...JOB, account: 'acme' },
    quiet: [
      {
        why: 'ten in a thousand devices failed, ten accounts with one each',
        series: {
          ...gauge('muster_rollout_devices', '10x60', 'instance="a",state="failed"'),
          ...gauge('muster_rollout_devices', '990x60', 'instance="a",state="applied"'),
          ...gauge('muster_rollout_failing_accounts', '0x60'),
          ...gauge('muster_rollout_top_devices', '1x60', 'instance="a",account="acme",state="failed"'),
        },
        at: '20m',
      },
      {
        why: 'the owner mended it within some minutes',
        series: {
          ...gauge('muster_rollout_failing_accounts', '1x8 0x60'),
          ...gauge('muster_rollout_top_failed_ratio', '1x8 stale', 'instance="a",account="acme"'),
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
    fires: {
      why: 'for 40 minutes, over a change of the leader',
      series: {
        ...gauge('muster_rate_limited_accounts', '1x60'),
        ...gauge('muster_rate_limit_top_refused', '90x20 stale', 'instance="a",account="acme"'),
        ...gauge('muster_rate_limit_top_refused', '_x21 90x60', 'instance="b",account="acme"'),
      },
      at: '40m',
    },
    labels: { ...JOB, account: 'acme' },
    quiet: [
      {
        why: 'for ten minutes',
        series: {
          ...gauge('muster_rate_limited_accounts', '1x10 0x60'),
          ...gauge('muster_rate_limit_top_refused', '90x10 0x60', 'instance="a",account="acme"'),
        },
        at: '40m',
      },
      {
        why: 'for 40 minutes, and it ended ten minutes ago',
        series: {
          ...gauge('muster_rate_limited_accounts', '1x40 0x60'),
          ...gauge('muster_rate_limit_top_refused', '90x40 0x60', 'instance="a",account="acme"'),
        },
        at: '50m',
      },
    ],
  },
  MusterAccountQuotaEnds: {
    fires: {
      why: 'ten hours are left',
      series: gauge('muster_account_quota_left_seconds', '36000x60', 'instance="a",account="acme"'),
      at: '30m',
    },
    labels: { ...JOB, account: 'acme' },
    quiet: [
      {
        why: 'two days are left',
        series: gauge('muster_account_quota_left_seconds', '172800x60', 'instance="a",account="acme"'),
        at: '30m',
      },
    ],
  },
  MusterAccountsNearQuota: {
    fires: {
      why: 'one is near',
      series: gauge('muster_accounts_near_quota', '1x60'),
      at: '30m',
    },
    labels: JOB,
    quiet: [{ why: 'none is', series: gauge('muster_accounts_near_quota', '0x60'), at: '30m' }],
  },
  MusterRateLimiterSlow: {
    fires: {
      why: 'every tenth decision takes a second',
      series: {
        ...gauge('muster_rate_decision_duration_seconds_bucket', '0+90x60', 'instance="a",le="0.1",result="admitted"'),
        ...gauge('muster_rate_decision_duration_seconds_bucket', '0+90x60', 'instance="a",le="0.5",result="admitted"'),
        ...gauge('muster_rate_decision_duration_seconds_bucket', '0+100x60', 'instance="a",le="1",result="admitted"'),
        ...gauge(
          'muster_rate_decision_duration_seconds_bucket',
          '0+100x60',
          'instance="a",le="+Inf",result="admitted"',
        ),
      },
      at: '20m',
    },
    alsoFires: [
      {
        why: 'every tenth cannot be made',
        series: {
          ...gauge('muster_rate_decisions_total', '0+90x60', 'instance="a",decision="admitted"'),
          ...gauge('muster_rate_decisions_total', '0+10x60', 'instance="a",decision="unavailable"'),
        },
        at: '20m',
      },
    ],
    labels: JOB,
    quiet: [
      {
        why: 'all are made at once',
        series: {
          ...gauge(
            'muster_rate_decision_duration_seconds_bucket',
            '0+100x60',
            'instance="a",le="0.1",result="limited"',
          ),
          ...gauge(
            'muster_rate_decision_duration_seconds_bucket',
            '0+100x60',
            'instance="a",le="+Inf",result="limited"',
          ),
          ...gauge('muster_rate_decisions_total', '0+100x60', 'instance="a",decision="limited"'),
          ...gauge('muster_rate_decisions_total', '0x60', 'instance="a",decision="unavailable"'),
        },
        at: '20m',
      },
      {
        why: 'they can be made again',
        series: {
          ...gauge('muster_rate_decisions_total', '0+90x60', 'instance="a",decision="admitted"'),
          ...gauge('muster_rate_decisions_total', '0+10x20 200x60', 'instance="a",decision="unavailable"'),
        },
        at: '26m',
      },
    ],
  },
  MusterRateLimitWaits: {
    fires: {
      why: 'nearly every request waits',
      series: {
        ...gauge('muster_rate_waited_total', '0+900x60'),
        ...gauge('muster_rate_decisions_total', '0+1000x90', 'instance="a",decision="admitted"'),
      },
      at: '50m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'one wild account for half an hour, of which MusterAccountsLimited tells by then',
        series: {
          ...gauge('muster_rate_waited_total', '0+900x60'),
          ...gauge('muster_rate_decisions_total', '0+1000x60', 'instance="a",decision="limited"'),
        },
        at: '36m',
      },
      {
        why: 'a few requests of many accounts',
        series: {
          ...gauge('muster_rate_waited_total', '0+90x60'),
          ...gauge('muster_rate_decisions_total', '0+100x60', 'instance="a",decision="admitted"'),
        },
        at: '50m',
      },
      {
        why: 'most are admitted from allotments',
        series: {
          ...gauge('muster_rate_waited_total', '0+900x60'),
          ...gauge('muster_rate_decisions_total', '0+9000x60', 'instance="a",decision="admitted"'),
        },
        at: '50m',
      },
      {
        why: 'allotments are taken again',
        series: {
          ...gauge('muster_rate_waited_total', '0+900x50 45000x60'),
          ...gauge('muster_rate_decisions_total', '0+1000x90', 'instance="a",decision="admitted"'),
        },
        at: '56m',
      },
    ],
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
        why: 'they have been written again for five minutes',
        series: {
          ...gauge('muster_heartbeat_flushes_total', '0+6x30 180x60', 'result="failed"'),
          ...gauge('muster_heartbeat_flushes_total', '0x30 0+6x60', 'result="written"'),
        },
        at: '35m',
      },
      {
        why: 'a conflict is written with the next flush',
        series: gauge('muster_heartbeat_flushes_total', '0+6x60', 'result="conflict"'),
        at: '30m',
      },
    ],
  },
  MusterCredentialShared: {
    fires: {
      why: 'two instances have taken turns',
      series: gauge('muster_opamp_shared_credentials_total', '0x10 1x60'),
      at: '20m',
    },
    labels: JOB,
    quiet: [
      { why: 'none has', series: gauge('muster_opamp_shared_credentials_total', '0x60'), at: '20m' },
      {
        why: 'none has, and what was found before yesterday is over',
        series: gauge('muster_opamp_shared_credentials_total', '3x200'),
        at: '180m',
      },
    ],
  },
  MusterDetectionsDropped: {
    fires: { why: 'five were', series: gauge('muster_detections_dropped_total', '0x10 5x30'), at: '20m' },
    labels: JOB,
    quiet: [{ why: 'none was', series: gauge('muster_detections_dropped_total', '0x30'), at: '20m' }],
  },
};
