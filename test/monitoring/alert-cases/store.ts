import { gauge, JOB, REPLICA, type AlertCases } from './case.ts';

/** promtool repeats numbers alone. */
const unknown = (times: number): string => Array.from({ length: times }, () => 'NaN').join(' ');
const CALLS = 'muster_store_operation_duration_seconds';

export const STORE_CASES: AlertCases = {
  MusterStoreDown: {
    fires: {
      why: 'no replica has it',
      series: {
        ...gauge('muster_watch_cache_ready', '0x30'),
        ...gauge('muster_watch_cache_ready', '0x30', 'instance="b"'),
      },
      at: '5m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'one has it',
        series: {
          ...gauge('muster_watch_cache_ready', '0x30'),
          ...gauge('muster_watch_cache_ready', '1x30', 'instance="b"'),
        },
        at: '5m',
      },
    ],
  },
  MusterFullnessUnknown: {
    fires: {
      why: 'to no replica for two hours',
      series: {
        ...gauge('muster_store_fullness_ratio', unknown(200)),
        ...gauge('muster_store_fullness_ratio', unknown(200), 'instance="b"'),
        ...gauge('muster_watch_cache_ready', '1x200'),
      },
      at: '2h',
    },
    labels: JOB,
    quiet: [
      {
        why: 'one knows it',
        series: {
          ...gauge('muster_store_fullness_ratio', unknown(200)),
          ...gauge('muster_store_fullness_ratio', '0.5x200', 'instance="b"'),
          ...gauge('muster_watch_cache_ready', '1x200'),
        },
        at: '2h',
      },
      {
        why: 'the store is down, which is told otherwise',
        series: {
          ...gauge('muster_store_fullness_ratio', unknown(200)),
          ...gauge('muster_watch_cache_ready', '0x200'),
        },
        at: '2h',
      },
      {
        why: 'it is known again',
        series: {
          ...gauge('muster_store_fullness_ratio', `${unknown(100)} 0.5x100`),
          ...gauge('muster_watch_cache_ready', '1x200'),
        },
        at: '2h',
      },
    ],
  },
  MusterPurgeLate: {
    fires: { why: 'three minutes ago', series: gauge('muster_purge_oldest_age_seconds', '0+60x10'), at: '3m' },
    labels: JOB,
    quiet: [
      { why: 'half a minute ago', series: gauge('muster_purge_oldest_age_seconds', '30x10'), at: '3m' },
      { why: 'it is out', series: gauge('muster_purge_oldest_age_seconds', '0+60x4 0x10'), at: '6m' },
    ],
  },
  MusterPurgeNotForgotten: {
    fires: { why: 'ten minutes ago', series: gauge('muster_purge_oldest_age_seconds', '0+60x20'), at: '10m' },
    labels: JOB,
    quiet: [
      { why: 'three minutes ago', series: gauge('muster_purge_oldest_age_seconds', '180x20'), at: '10m' },
      { why: 'it is out', series: gauge('muster_purge_oldest_age_seconds', '0+60x8 0x10'), at: '10m' },
    ],
  },
  MusterBackupOld: {
    fires: {
      why: 'it was made more than a day ago',
      series: gauge('muster_backup_last_timestamp_seconds', '600x300'),
      at: '2000m',
      step: '10m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'it was made yesterday',
        series: gauge('muster_backup_last_timestamp_seconds', '60000x300'),
        at: '2000m',
        step: '10m',
      },
      {
        why: 'another one was made',
        series: gauge('muster_backup_last_timestamp_seconds', '600x198 118800x100'),
        at: '2000m',
        step: '10m',
      },
      {
        why: 'none was ever made, which is told otherwise',
        series: gauge('muster_backup_last_timestamp_seconds', '0x300'),
        at: '2000m',
        step: '10m',
      },
    ],
  },
  MusterBackupNeverMade: {
    fires: {
      why: 'there have been accounts for four days',
      series: {
        ...gauge('muster_backup_last_timestamp_seconds', '0x700'),
        ...gauge('muster_accounts', '3x700'),
      },
      at: '5760m',
      step: '10m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'it was installed yesterday',
        series: {
          ...gauge('muster_backup_last_timestamp_seconds', '0x700'),
          ...gauge('muster_accounts', '0x430 3x200'),
        },
        at: '5760m',
        step: '10m',
      },
      {
        why: 'one was made',
        series: {
          ...gauge('muster_backup_last_timestamp_seconds', '0x560 336000x100'),
          ...gauge('muster_accounts', '3x700'),
        },
        at: '5760m',
        step: '10m',
      },
    ],
  },
  MusterReplicaWithoutStore: {
    fires: { why: 'not for ten minutes', series: gauge('muster_watch_cache_ready', '0x30'), at: '10m' },
    labels: REPLICA,
    quiet: [{ why: 'it just starts', series: gauge('muster_watch_cache_ready', '0x2 1x30'), at: '10m' }],
  },
  MusterStoreErrors: {
    fires: {
      why: 'every tenth is lost',
      series: {
        ...gauge(`${CALLS}_count`, '0+90x30', 'result="ok"'),
        ...gauge(`${CALLS}_count`, '0+10x30', 'result="timeout"'),
      },
      at: '20m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'conflicts are ordinary answers',
        series: {
          ...gauge(`${CALLS}_count`, '0+90x30', 'result="ok"'),
          ...gauge(`${CALLS}_count`, '0+50x30', 'result="conflict"'),
        },
        at: '20m',
      },
    ],
  },
  MusterStoreSlow: {
    fires: {
      why: 'half of the commits take more than half a second',
      series: {
        ...gauge(`${CALLS}_bucket`, '0+50x30', 'operation="commit",le="0.5"'),
        ...gauge(`${CALLS}_bucket`, '0+100x30', 'operation="commit",le="1"'),
        ...gauge(`${CALLS}_bucket`, '0+100x30', 'operation="commit",le="+Inf"'),
      },
      at: '20m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'only listings do',
        series: {
          ...gauge(`${CALLS}_bucket`, '0+100x30', 'operation="commit",le="0.5"'),
          ...gauge(`${CALLS}_bucket`, '0+100x30', 'operation="commit",le="+Inf"'),
          ...gauge(`${CALLS}_bucket`, '0+0x30', 'operation="list",le="0.5"'),
          ...gauge(`${CALLS}_bucket`, '0+100x30', 'operation="list",le="+Inf"'),
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
  MusterWatchCacheLags: {
    fires: { why: 'always behind', series: gauge('muster_watch_cache_lag_revisions', '0x10 3x30'), at: '25m' },
    labels: REPLICA,
    quiet: [
      { why: 'it has caught up', series: gauge('muster_watch_cache_lag_revisions', '3x18 0x30'), at: '25m' },
      { why: 'behind now and then', series: gauge('muster_watch_cache_lag_revisions', '3 0 3 3 0 3 3 0x30'), at: '8m' },
    ],
  },
  MusterWatchCacheMismatch: {
    fires: {
      why: 'one difference',
      series: gauge('muster_watch_cache_consistency_checks_total', '0x10 1x30', 'instance="a",verdict="different"'),
      at: '20m',
    },
    labels: { ...REPLICA, verdict: 'different' },
    quiet: [
      {
        why: 'what could not be compared is none',
        series: gauge('muster_watch_cache_consistency_checks_total', '0+1x30', 'instance="a",verdict="unknown"'),
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
};
