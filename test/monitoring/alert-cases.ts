/* When each alert fires, and its neighbour that must not. Values are promtool's: `start+step x times`, at each step. */

export interface Situation {
  readonly why: string;
  /** Without a `job` they are of the job `muster`. */
  readonly series: Readonly<Record<string, string>>;
  readonly at: string;
  /** The step of the values and of the evaluation; a minute unless it says otherwise. */
  readonly step?: string;
}

export interface AlertCase {
  readonly fires: Situation;
  /** Beside `alertname` and `severity`, which every one has. */
  readonly labels: Readonly<Record<string, string>>;
  readonly quiet: readonly Situation[];
}

const JOB = { job: 'muster' };
const REPLICA = { ...JOB, instance: 'a' };
const API = { ...JOB, listener: 'api' };

const count = (labels: string): string => `muster_http_request_duration_seconds_count{instance="a",${labels}}`;
const bucket = (labels: string): string =>
  `muster_http_request_duration_seconds_bucket{instance="a",le="0.25",${labels}}`;
const OK = 'listener="api",route="/v1/apps",status="200",code=""';
const BAD = 'listener="api",route="/v1/apps",status="502",code="upstream_unavailable"';
const HELD = 'listener="device",route="/device/v1/config (held)",status="304",code=""';

const requests = (good: string, bad: string): Record<string, string> => ({ [count(OK)]: good, [count(BAD)]: bad });
const answers = (all: string, fast: string): Record<string, string> => ({ [count(OK)]: all, [bucket(OK)]: fast });
/** `x` replaces the instance. */
const gauge = (name: string, value: string, more = 'instance="a"'): Record<string, string> => ({
  [`${name}{${more}}`]: value,
});

/** Steps of ten minutes. */
const DAY = 144;

export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  MusterAvailabilityBurningFast: {
    fires: { why: '5 % fail for an hour', series: requests('0+95x200', '0+5x200'), at: '70m' },
    labels: API,
    quiet: [
      { why: '0.5 % fail', series: requests('0+995x200', '0+5x200'), at: '70m' },
      { why: 'seven failures are too few to say', series: requests('0+1x200', '0+0x60 1+1x6 7+0x120'), at: '70m' },
      { why: 'it failed, and is well again', series: requests('0+95x200', '0+5x60 300+0x140'), at: '95m' },
      {
        why: 'limited and refused requests are answers',
        series: { [count(OK)]: '0+1x200', [count('listener="api",route="/v1/apps",status="429"')]: '0+90x200' },
        at: '70m',
      },
    ],
  },
  MusterAvailabilityBurningSlowly: {
    fires: { why: '0.5 % fail for a day', series: requests('0+995x1600', '0+5x1600'), at: '1500m' },
    labels: API,
    quiet: [
      { why: '0.05 % fail', series: requests('0+1999x1600', '0+1x1600'), at: '1500m' },
      { why: 'one failure in a quiet night', series: requests('0+0x1600', '0+0x1390 1+0x200'), at: '1400m' },
    ],
  },
  MusterLatencyBurningFast: {
    fires: { why: 'every fourth takes longer than 250 ms', series: answers('0+100x200', '0+75x200'), at: '70m' },
    labels: API,
    quiet: [
      { why: 'one in a hundred does', series: answers('0+100x200', '0+99x200'), at: '70m' },
      { why: 'nine slow ones are too few to say', series: answers('0+0x60 0+1x140', '0+0x200'), at: '69m' },
      {
        why: 'a held poll is meant to take long',
        series: { [count(HELD)]: '0+100x200', [bucket(HELD)]: '0+0x200' },
        at: '70m',
      },
    ],
  },
  MusterLatencyBurningSlowly: {
    fires: { why: '5 % take longer, for a day', series: answers('0+100x1600', '0+95x1600'), at: '1500m' },
    labels: API,
    quiet: [{ why: 'one in two hundred does', series: answers('0+200x1600', '0+199x1600'), at: '1500m' }],
  },
  MusterReplicaDown: {
    fires: {
      why: 'it was there, and is not',
      series: { ...gauge('up', '1x10 0x30'), ...gauge('muster_build_info', '1x10 stale') },
      at: '20m',
    },
    labels: REPLICA,
    quiet: [
      {
        why: 'it is there',
        series: { ...gauge('up', '1x40'), ...gauge('muster_build_info', '1x40') },
        at: '20m',
      },
      { why: 'another service is down', series: gauge('up', '0x40'), at: '20m' },
    ],
  },
  MusterRestarting: {
    fires: {
      why: 'four starts within 15 minutes',
      series: { ...gauge('process_start_time_seconds', '1x3 2x3 3x3 4x20'), ...gauge('muster_build_info', '1x40') },
      at: '12m',
    },
    labels: REPLICA,
    quiet: [
      {
        why: 'an update restarts it once',
        series: { ...gauge('process_start_time_seconds', '1x3 2x30'), ...gauge('muster_build_info', '1x40') },
        at: '12m',
      },
      {
        why: 'another service restarts',
        series: gauge('process_start_time_seconds', '1x3 2x3 3x3 4x20'),
        at: '12m',
      },
    ],
  },
  MusterVersionsDiffer: {
    fires: {
      why: 'two versions for hours',
      series: {
        ...gauge('muster_build_info', '1x200', 'instance="a",version="1"'),
        ...gauge('muster_build_info', '1x200', 'instance="b",version="2"'),
      },
      at: '150m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'both have the same',
        series: {
          ...gauge('muster_build_info', '1x200', 'instance="a",version="1"'),
          ...gauge('muster_build_info', '1x200', 'instance="b",version="1"'),
        },
        at: '150m',
      },
    ],
  },
  MusterTurnsAway: {
    fires: {
      why: 'one a second is above the bound',
      series: gauge('muster_http_turned_away_total', '0+60x30', 'listener="api",why="request_bound"'),
      at: '20m',
    },
    labels: API,
    quiet: [
      {
        why: 'what is no HTTP is no load',
        series: gauge('muster_http_turned_away_total', '0+60x30', 'listener="api",why="below_routing"'),
        at: '20m',
      },
    ],
  },
  MusterEventLoopBusy: {
    fires: {
      why: 'half a second late',
      series: { ...gauge('nodejs_eventloop_lag_p99_seconds', '0.5x30'), ...gauge('muster_build_info', '1x30') },
      at: '20m',
    },
    labels: REPLICA,
    quiet: [
      {
        why: '20 ms late',
        series: { ...gauge('nodejs_eventloop_lag_p99_seconds', '0.02x30'), ...gauge('muster_build_info', '1x30') },
        at: '20m',
      },
      { why: 'another program of Node.js', series: gauge('nodejs_eventloop_lag_p99_seconds', '0.5x30'), at: '20m' },
    ],
  },
  MusterFileDescriptorsScarce: {
    fires: {
      why: '90 of 100 are open',
      series: {
        ...gauge('process_open_fds', '90x30'),
        ...gauge('process_max_fds', '100x30'),
        ...gauge('muster_build_info', '1x30'),
      },
      at: '20m',
    },
    labels: REPLICA,
    quiet: [
      {
        why: '70 of 100 are',
        series: {
          ...gauge('process_open_fds', '70x30'),
          ...gauge('process_max_fds', '100x30'),
          ...gauge('muster_build_info', '1x30'),
        },
        at: '20m',
      },
    ],
  },
  MusterClockUntrusted: {
    fires: { why: 'not trusted for ten minutes', series: gauge('muster_clock_trusted', '0x30'), at: '10m' },
    labels: REPLICA,
    quiet: [{ why: 'right again at once', series: gauge('muster_clock_trusted', '1 0 1x30'), at: '10m' }],
  },
  MusterClocksApart: {
    fires: { why: 'two seconds', series: gauge('muster_clock_skew_seconds', '2x30'), at: '20m' },
    labels: JOB,
    quiet: [{ why: 'half a second', series: gauge('muster_clock_skew_seconds', '0.5x30'), at: '20m' }],
  },
  MusterStoreDown: {
    fires: {
      why: 'no replica has it',
      series: {
        ...gauge('muster_directory_ready', '0x30'),
        ...gauge('muster_directory_ready', '0x30', 'instance="b"'),
      },
      at: '5m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'one has it',
        series: {
          ...gauge('muster_directory_ready', '0x30'),
          ...gauge('muster_directory_ready', '1x30', 'instance="b"'),
        },
        at: '5m',
      },
    ],
  },
  MusterReplicaWithoutStore: {
    fires: { why: 'not for ten minutes', series: gauge('muster_directory_ready', '0x30'), at: '10m' },
    labels: REPLICA,
    quiet: [{ why: 'it just starts', series: gauge('muster_directory_ready', '0x2 1x30'), at: '10m' }],
  },
  MusterStoreErrors: {
    fires: {
      why: 'every tenth is lost',
      series: {
        ...gauge('muster_store_operation_duration_seconds_count', '0+90x30', 'result="ok"'),
        ...gauge('muster_store_operation_duration_seconds_count', '0+10x30', 'result="timeout"'),
      },
      at: '20m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'conflicts are ordinary answers',
        series: {
          ...gauge('muster_store_operation_duration_seconds_count', '0+90x30', 'result="ok"'),
          ...gauge('muster_store_operation_duration_seconds_count', '0+50x30', 'result="conflict"'),
        },
        at: '20m',
      },
    ],
  },
  MusterStoreSlow: {
    fires: {
      why: 'half of the commits take more than half a second',
      series: {
        ...gauge('muster_store_operation_duration_seconds_bucket', '0+50x30', 'operation="commit",le="0.5"'),
        ...gauge('muster_store_operation_duration_seconds_bucket', '0+100x30', 'operation="commit",le="1"'),
        ...gauge('muster_store_operation_duration_seconds_bucket', '0+100x30', 'operation="commit",le="+Inf"'),
      },
      at: '20m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'only listings do',
        series: {
          ...gauge('muster_store_operation_duration_seconds_bucket', '0+100x30', 'operation="commit",le="0.5"'),
          ...gauge('muster_store_operation_duration_seconds_bucket', '0+100x30', 'operation="commit",le="+Inf"'),
          ...gauge('muster_store_operation_duration_seconds_bucket', '0+0x30', 'operation="list",le="0.5"'),
          ...gauge('muster_store_operation_duration_seconds_bucket', '0+100x30', 'operation="list",le="+Inf"'),
        },
        at: '20m',
      },
    ],
  },
  MusterStoreNearlyFull: {
    fires: { why: '75 %', series: gauge('muster_store_fullness_ratio', '0.75x30'), at: '20m' },
    labels: JOB,
    quiet: [{ why: '70 %', series: gauge('muster_store_fullness_ratio', '0.7x30'), at: '20m' }],
  },
  MusterStoreFull: {
    fires: { why: '80 %, where creates are refused', series: gauge('muster_store_fullness_ratio', '0.8x30'), at: '5m' },
    labels: JOB,
    quiet: [{ why: '79 %', series: gauge('muster_store_fullness_ratio', '0.79x30'), at: '5m' }],
  },
  MusterDirectoryLags: {
    fires: { why: 'always behind', series: gauge('muster_directory_lag_revisions', '0x10 3x30'), at: '25m' },
    labels: REPLICA,
    quiet: [
      { why: 'behind now and then', series: gauge('muster_directory_lag_revisions', '3 0 3 3 0 3 3 0x30'), at: '8m' },
    ],
  },
  MusterDirectoryMismatch: {
    fires: {
      why: 'one difference',
      series: gauge('muster_directory_proofs_total', '0x10 1x30', 'instance="a",verdict="different"'),
      at: '20m',
    },
    labels: { ...REPLICA, verdict: 'different' },
    quiet: [
      {
        why: 'what could not be compared is none',
        series: gauge('muster_directory_proofs_total', '0+1x30', 'instance="a",verdict="unknown"'),
        at: '20m',
      },
    ],
  },
  MusterRecordsUnreadable: {
    fires: { why: 'one record', series: gauge('muster_records_unreadable_total', '0x10 1x30'), at: '20m' },
    labels: REPLICA,
    quiet: [{ why: 'none', series: gauge('muster_records_unreadable_total', '0x30'), at: '20m' }],
  },
  MusterPurgesAwaitKeyRetirement: {
    fires: {
      why: 'for longer than 30 days',
      series: gauge('muster_purges_awaiting_key_retirement', `2x${32 * 24}`),
      at: `${31 * 24}h`,
      step: '1h',
    },
    labels: JOB,
    quiet: [
      {
        why: 'for two days',
        series: gauge('muster_purges_awaiting_key_retirement', `0x${29 * 24} 2x${3 * 24}`),
        at: `${31 * 24}h`,
        step: '1h',
      },
      {
        why: 'the keys were retired in between',
        series: gauge('muster_purges_awaiting_key_retirement', `2x${10 * 24} 0x${2 * 24} 2x${20 * 24}`),
        at: `${31 * 24}h`,
        step: '1h',
      },
    ],
  },
  MusterNoLeader: {
    fires: {
      why: 'two controllers, and none leads',
      series: {
        ...gauge('muster_controller_leading', '0x30'),
        ...gauge('muster_controller_leading', '0x30', 'instance="b"'),
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
        why: 'a replica that led long ago knows of an older night',
        series: {
          ...gauge('muster_metering_last_night_timestamp_seconds', `1x${2 * DAY}`),
          ...gauge('muster_metering_last_night_timestamp_seconds', `86400x${2 * DAY}`, 'instance="b"'),
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
