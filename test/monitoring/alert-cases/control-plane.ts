import { DAY, gauge, JOB, type AlertCases } from './case.ts';

export const CONTROL_PLANE_CASES: AlertCases = {
  MusterNoLeader: {
    fires: {
      why: 'two controllers, and none leads',
      series: {
        ...gauge('muster_controller_leading', '0x30'),
        ...gauge('muster_controller_leading', '0x30', 'instance="b"'),
        ...gauge('muster_controller_leader_known', '0x30'),
        ...gauge('muster_role', '1x30', 'instance="a",role="controller"'),
        ...gauge('muster_role', '1x30', 'instance="b",role="controller"'),
      },
      at: '5m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'one leads',
        series: {
          ...gauge('muster_controller_leading', '0x30'),
          ...gauge('muster_controller_leading', '1x30', 'instance="b"'),
          ...gauge('muster_role', '1x30', 'instance="a",role="controller"'),
        },
        at: '5m',
      },
      {
        why: 'followers, whose leader another Prometheus scrapes',
        series: {
          ...gauge('muster_controller_leading', '0x30'),
          ...gauge('muster_controller_leader_known', '1x30'),
          ...gauge('muster_role', '1x30', 'instance="a",role="controller"'),
        },
        at: '5m',
      },
      {
        why: 'a hand-over takes less than two minutes',
        series: {
          ...gauge('muster_controller_leading', '1x3 0 1x30'),
          ...gauge('muster_role', '1x30', 'instance="a",role="controller"'),
        },
        at: '5m',
      },
      {
        why: 'these processes have another role',
        series: {
          ...gauge('muster_controller_leading', '0x30'),
          ...gauge('muster_role', '0x30', 'instance="a",role="controller"'),
        },
        at: '5m',
      },
    ],
  },
  MusterSeveralLeaders: {
    fires: {
      why: 'two at once',
      series: {
        ...gauge('muster_controller_leading', '1x30'),
        ...gauge('muster_controller_leading', '1x30', 'instance="b"'),
      },
      at: '5m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'both are seen for one scrape, of a hand-over',
        series: {
          ...gauge('muster_controller_leading', '1x4 0x30'),
          ...gauge('muster_controller_leading', '0x3 1x30', 'instance="b"'),
        },
        at: '5m',
      },
      {
        why: 'two installations have one each',
        series: {
          ...gauge('muster_controller_leading', '1x30'),
          ...gauge('muster_controller_leading', '1x30', 'instance="b",job="other"'),
        },
        at: '5m',
      },
    ],
  },
  MusterLeadershipUnsteady: {
    fires: {
      why: 'lost six times in an hour',
      series: gauge('muster_controller_terms_total', '0 1 2 3 4 5 6x60', 'why="lost"'),
      at: '30m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'an update hands it over',
        series: gauge('muster_controller_terms_total', '0 1 2 3 4 5 6x60', 'why="stopped"'),
        at: '30m',
      },
    ],
  },
  MusterLoopFailing: {
    fires: {
      why: 'nearly every round fails',
      series: {
        ...gauge('muster_loop_duration_seconds_count', '0+1x60', 'loop="sweep",result="ok"'),
        ...gauge('muster_loop_duration_seconds_count', '0+9x60', 'loop="sweep",result="failed"'),
      },
      at: '40m',
    },
    labels: { ...JOB, loop: 'sweep' },
    quiet: [
      {
        why: 'one round in ten fails',
        series: {
          ...gauge('muster_loop_duration_seconds_count', '0+9x60', 'loop="sweep",result="ok"'),
          ...gauge('muster_loop_duration_seconds_count', '0+1x60', 'loop="sweep",result="failed"'),
        },
        at: '40m',
      },
    ],
  },
  MusterMeteringLate: {
    fires: {
      why: 'the last night ended 27 hours ago',
      series: {
        ...gauge('muster_metering_last_night_timestamp_seconds', `1x${2 * DAY}`),
        ...gauge('muster_accounts', `3x${2 * DAY}`),
      },
      at: '27h',
      step: '10m',
    },
    labels: JOB,
    quiet: [
      {
        why: '25 hours ago: it is not late yet',
        series: {
          ...gauge('muster_metering_last_night_timestamp_seconds', `1x${2 * DAY}`),
          ...gauge('muster_accounts', `3x${2 * DAY}`),
        },
        at: '25h',
        step: '10m',
      },
      {
        why: 'another replica has begun to lead, and metered the night',
        series: {
          ...gauge('muster_metering_last_night_timestamp_seconds', `1x${DAY} stale`),
          ...gauge('muster_metering_last_night_timestamp_seconds', `_x${DAY} 86400x${DAY}`, 'instance="b"'),
          ...gauge('muster_accounts', `3x${2 * DAY}`),
        },
        at: '27h',
        step: '10m',
      },
      {
        why: 'nobody is here to be metered',
        series: {
          ...gauge('muster_metering_last_night_timestamp_seconds', `1x${2 * DAY}`),
          ...gauge('muster_accounts', `0x${2 * DAY}`),
        },
        at: '27h',
        step: '10m',
      },
    ],
  },
  MusterNightMissing: {
    fires: {
      why: 'the last night ended 51 hours ago',
      series: {
        ...gauge('muster_metering_last_night_timestamp_seconds', `1x${3 * DAY}`),
        ...gauge('muster_accounts', `3x${3 * DAY}`),
      },
      at: '51h',
      step: '10m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'the night before was metered an hour ago',
        series: {
          ...gauge('muster_metering_last_night_timestamp_seconds', `1x${2 * DAY} 172800x${DAY}`),
          ...gauge('muster_accounts', `3x${3 * DAY}`),
        },
        at: '51h',
        step: '10m',
      },
      {
        why: '27 hours ago is late, and nothing is missing yet',
        series: {
          ...gauge('muster_metering_last_night_timestamp_seconds', `1x${3 * DAY}`),
          ...gauge('muster_accounts', `3x${3 * DAY}`),
        },
        at: '27h',
        step: '10m',
      },
    ],
  },
  MusterMeteringNotBegun: {
    fires: {
      why: 'accounts for 27 hours, and no night',
      series: {
        ...gauge('muster_metering_last_night_timestamp_seconds', `0x${2 * DAY}`),
        ...gauge('muster_accounts', `3x${2 * DAY}`),
      },
      at: '27h',
      step: '10m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'the accounts are of today',
        series: {
          ...gauge('muster_metering_last_night_timestamp_seconds', `0x${2 * DAY}`),
          ...gauge('muster_accounts', `0x${DAY} 3x${DAY}`),
        },
        at: '27h',
        step: '10m',
      },
    ],
  },
  MusterNightMeteredLate: {
    fires: {
      why: 'one night',
      series: gauge('muster_metering_nights_total', '0x10 1x30', 'late="true"'),
      at: '20m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'a night in time',
        series: gauge('muster_metering_nights_total', '0x10 1x30', 'late="false"'),
        at: '20m',
      },
    ],
  },
  MusterFileUnusable: {
    fires: {
      why: 'on one of two replicas',
      series: {
        ...gauge('muster_file_unusable', '1x20', 'instance="a",file="MUSTER_OPERATOR_TOKEN_FILE"'),
        ...gauge('muster_file_unusable', '0x20', 'instance="b",file="MUSTER_OPERATOR_TOKEN_FILE"'),
      },
      at: '5m',
    },
    labels: { ...JOB, file: 'MUSTER_OPERATOR_TOKEN_FILE' },
    quiet: [
      {
        why: 'for one look, while it was being replaced',
        series: gauge('muster_file_unusable', '0 1 0x20', 'file="MUSTER_OPERATOR_TOKEN_FILE"'),
        at: '5m',
      },
    ],
  },
  MusterAuditLogBehind: {
    fires: {
      why: 'on the leader, where nobody reads',
      series: {
        ...gauge('muster_audit_log_lag_seconds', '0x3 400x20', 'instance="a"'),
        ...gauge('muster_audit_log_lines_total', '7x30', 'instance="a"'),
      },
      at: '12m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'where the lines were written within five minutes',
        series: {
          ...gauge('muster_audit_log_lag_seconds', '0 400x4 0x20', 'instance="a"'),
          ...gauge('muster_audit_log_lines_total', '7x30', 'instance="a"'),
        },
        at: '12m',
      },
      {
        why: 'while old entries are being written',
        series: {
          ...gauge('muster_audit_log_lag_seconds', '90000x20', 'instance="a"'),
          ...gauge('muster_audit_log_lines_total', '0+1000x20', 'instance="a"'),
        },
        at: '12m',
      },
    ],
  },
  MusterRefusedUsersHoldKeys: {
    fires: {
      why: 'as both replicas have it in the records of the users',
      series: {
        ...gauge('muster_users_refused_with_keys', '0 2x80', 'instance="a"'),
        ...gauge('muster_users_refused_with_keys', '0 2x80', 'instance="b"'),
      },
      at: '65m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'where they sign in again within the hour',
        series: gauge('muster_users_refused_with_keys', '0 2x50 0x40', 'instance="a"'),
        at: '65m',
      },
    ],
  },
};
