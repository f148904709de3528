import { gauge, type Situation } from './case.ts';

/* Each alert over the whole of a fault: it fires at one time, and has ended at a later one. */

interface Course extends Omit<Situation, 'why'> {
  /** When it fires; `at` is when it has ended. */
  readonly fires: string;
}

const course = (fires: string, at: string, step: string, ...series: readonly Record<string, string>[]): Course => ({
  fires,
  at,
  step,
  series: Object.assign({}, ...series) as Record<string, string>,
});
const minutes = (fires: string, at: string, ...series: readonly Record<string, string>[]): Course =>
  course(fires, at, '1m', ...series);
const tens = (fires: string, at: string, ...series: readonly Record<string, string>[]): Course =>
  course(fires, at, '10m', ...series);

const build = (value: string, instance = 'a'): Record<string, string> =>
  gauge('muster_build_info', value, `instance="${instance}"`);
const LOOP = 'muster_loop_duration_seconds_count';
const CALLS = 'muster_store_operation_duration_seconds';
const API_CERTIFICATE = 'file="MUSTER_API_TLS_CERT_FILE"';
const EXPIRY = 'muster_certificate_expiry_timestamp_seconds';
const ROLLOUT = 'muster_rollout_devices';
const FAILURES = 'muster_kubernetes_reconcile_failures_total';
const RECONCILES = 'muster_kubernetes_reconcile_duration_seconds_count';
const TRIED = 'instance="a",credential="api_key",reason="wrong_secret"';
const DECISIONS = 'muster_rate_decisions_total';
const HTTP = 'muster_http_request_duration_seconds';
const OK = 'instance="a",listener="api",route="/v1/apps",status="200",code=""';
const BAD = 'instance="a",listener="api",route="/v1/apps",status="502",code="upstream_unavailable"';
const FAST = `${OK},le="0.25"`;
const unknown = (times: number): string => Array.from({ length: times }, () => 'NaN').join(' ');

export const COURSES: Readonly<Record<string, Course>> = {
  MusterAvailabilityBurningFast: minutes(
    '70m',
    '110m',
    gauge(`${HTTP}_count`, '0+95x200', OK),
    gauge(`${HTTP}_count`, '0+5x75 375x120', BAD),
  ),
  MusterAvailabilityBurningSlowly: tens(
    '1500m',
    '2100m',
    gauge(`${HTTP}_count`, '0+9950x300', OK),
    gauge(`${HTTP}_count`, '0+50x155 7750x150', BAD),
  ),
  MusterLatencyBurningFast: minutes(
    '70m',
    '110m',
    gauge(`${HTTP}_count`, '0+100x200', OK),
    gauge(`${HTTP}_bucket`, '0+75x75 5725+100x120', FAST),
  ),
  MusterLatencyBurningSlowly: tens(
    '1500m',
    '2100m',
    gauge(`${HTTP}_count`, '0+1000x300', OK),
    gauge(`${HTTP}_bucket`, '0+950x155 148250+1000x150', FAST),
  ),

  MusterDown: minutes('12m', '22m', build('1x5 _x14 1x30')),
  MusterReplicasMissing: minutes('225m', '240m', build('1x300'), gauge('muster_replicas', '2x200 1x29 2x70')),
  MusterReplicaDown: minutes('18m', '25m', gauge('up', '1x10 0x9 1x30'), build('1x10 _x9 1x30')),
  MusterRestarting: minutes('12m', '40m', gauge('process_start_time_seconds', '1x3 2x3 3x3 4x60'), build('1x80')),
  MusterVersionsDiffer: minutes(
    '150m',
    '170m',
    gauge('muster_build_info', '1x200', 'instance="a",version="1"'),
    gauge('muster_build_info', '1x160 stale', 'instance="b",version="2"'),
  ),
  MusterRejectsRequests: minutes(
    '20m',
    '40m',
    gauge('muster_http_rejected_total', '0+60x25 1500x60', 'instance="a",listener="api",why="request_bound"'),
  ),
  MusterEventLoopBusy: minutes(
    '15m',
    '22m',
    gauge('nodejs_eventloop_lag_p99_seconds', '0.5x20 0.02x20'),
    build('1x60'),
  ),
  MusterFileDescriptorsScarce: minutes(
    '15m',
    '22m',
    gauge('process_open_fds', '90x20 20x20'),
    gauge('process_max_fds', '100x60'),
    build('1x60'),
  ),
  MusterClockUntrusted: minutes('10m', '22m', gauge('muster_clock_trusted', '0x20 1x20')),
  MusterClocksApart: minutes('15m', '22m', gauge('muster_clock_skew_seconds', '0.99x20 0x20')),
  MusterClockWrong: minutes('15m', '32m', gauge('muster_wall_clock_seconds', '3+60x20 1260+60x60')),
  MusterAuthenticationFailing: minutes(
    '20m',
    '41m',
    gauge('muster_authentication_failures_total', '0+3x20 60x60', TRIED),
  ),
  MusterOperatorTokensDiffer: minutes('15m', '22m', gauge('muster_replicas_with_other_operator_tokens', '1x20 0x20')),
  MusterAuditAttemptsDropped: minutes('20m', '80m', gauge('muster_audit_attempts_dropped_total', '0x10 1x100')),
  MusterCertificateExpiresSoon: tens(
    '90m',
    '220m',
    gauge(EXPIRY, '400000x20 4000000x20', `instance="a",${API_CERTIFICATE}`),
  ),
  MusterCertificateExpires: tens(
    '90m',
    '220m',
    gauge(EXPIRY, '40000x20 4000000x20', `instance="a",${API_CERTIFICATE}`),
  ),
  MusterFileUnusable: minutes(
    '8m',
    '12m',
    gauge('muster_file_unusable', '1x10 0x30', 'file="MUSTER_OPERATOR_TOKEN_FILE"'),
  ),
  MusterAuditLogBehind: minutes('12m', '20m', {
    ...gauge('muster_audit_log_lag_seconds', '0x3 400x10 0x20'),
    ...gauge('muster_audit_log_lines_total', '7x40'),
  }),
  MusterRefusedUsersHoldKeys: minutes('65m', '80m', gauge('muster_users_refused_with_keys', '2x70 0x30')),

  MusterStoreDown: minutes('8m', '12m', gauge('muster_watch_cache_ready', '0x10 1x30')),
  MusterReplicaWithoutStore: minutes('8m', '12m', gauge('muster_watch_cache_ready', '0x10 1x30')),
  MusterStoreErrors: minutes(
    '18m',
    '30m',
    gauge(`${CALLS}_count`, '0+90x60', 'instance="a",result="ok"'),
    gauge(`${CALLS}_count`, '0+10x20 200x60', 'instance="a",result="timeout"'),
  ),
  MusterStoreSlow: minutes(
    '18m',
    '30m',
    gauge(`${CALLS}_bucket`, '0+50x20 1100+100x60', 'operation="commit",le="0.5"'),
    gauge(`${CALLS}_bucket`, '0+100x20 2100+100x60', 'operation="commit",le="1"'),
    gauge(`${CALLS}_bucket`, '0+100x20 2100+100x60', 'operation="commit",le="+Inf"'),
  ),
  MusterStoreNearlyFull: minutes('15m', '22m', gauge('muster_store_fullness_ratio', '0.75x20 0.3x20')),
  MusterStoreFull: minutes('8m', '12m', gauge('muster_store_fullness_ratio', '0.85x10 0.3x20')),
  MusterFullnessUnknown: minutes(
    '90m',
    '110m',
    gauge('muster_store_fullness_ratio', `${unknown(100)} 0.5x60`),
    gauge('muster_watch_cache_ready', '1x200'),
  ),
  MusterPurgeLate: minutes('3m', '6m', gauge('muster_purge_oldest_age_seconds', '0+60x4 0x10')),
  MusterPurgeNotForgotten: minutes('7m', '10m', gauge('muster_purge_oldest_age_seconds', '0+60x8 0x10')),
  MusterBackupOld: tens('1800m', '2000m', gauge('muster_backup_last_timestamp_seconds', '600x190 118800x100')),
  MusterBackupNeverMade: tens(
    '5000m',
    '5760m',
    gauge('muster_backup_last_timestamp_seconds', '0x560 336000x100'),
    gauge('muster_accounts', '3x700'),
  ),
  MusterWatchCacheLags: minutes('20m', '32m', gauge('muster_watch_cache_lag_revisions', '3x25 0x30')),
  MusterWatchCacheMismatch: minutes(
    '20m',
    '80m',
    gauge('muster_watch_cache_consistency_checks_total', '0x10 1x100', 'instance="a",verdict="different"'),
  ),
  MusterRecordsUnreadable: minutes('20m', '80m', gauge('muster_records_unreadable_total', '0x10 1x100')),
  MusterPurgesAwaitKeyRetirement: course(
    `${31 * 24 * 60}m`,
    `${33 * 24 * 60}m`,
    '1h',
    gauge('muster_purges_awaiting_key_retirement', `2x${32 * 24} 0x${3 * 24}`),
  ),

  MusterNoLeader: minutes(
    '8m',
    '12m',
    gauge('muster_controller_leading', '0x10 1x30'),
    gauge('muster_role', '1x60', 'instance="a",role="controller"'),
  ),
  MusterSeveralLeaders: minutes(
    '8m',
    '12m',
    gauge('muster_controller_leading', '1x60'),
    gauge('muster_controller_leading', '1x10 0x30', 'instance="b"'),
  ),
  MusterLeadershipUnsteady: minutes(
    '15m',
    '80m',
    gauge('muster_controller_terms_total', '0 1 2 3 4 5 6 7 8x100', 'instance="a",why="lost"'),
  ),
  MusterLoopFailing: minutes(
    '28m',
    '60m',
    gauge(LOOP, '0+6x30 180x60', 'instance="a",loop="sweep",result="failed"'),
    gauge(LOOP, '0x30 0+6x60', 'instance="a",loop="sweep",result="ok"'),
  ),
  MusterMeteringLate: tens(
    '1680m',
    '1740m',
    gauge('muster_metering_last_night_timestamp_seconds', '600x170 101000x50'),
    gauge('muster_accounts', '3x300'),
  ),
  MusterNightMissing: tens(
    '3080m',
    '3140m',
    gauge('muster_metering_last_night_timestamp_seconds', '600x310 186000x50'),
    gauge('muster_accounts', '3x400'),
  ),
  MusterMeteringNotBegun: tens(
    '1650m',
    '1740m',
    gauge('muster_metering_last_night_timestamp_seconds', '0x170 100000x50'),
    gauge('muster_accounts', '3x300'),
  ),
  MusterNightMeteredLate: tens(
    '90m',
    '450m',
    gauge('muster_metering_nights_total', '0x6 1x100', 'instance="a",late="true"'),
  ),

  MusterConfigDeliverySlow: minutes(
    '20m',
    '32m',
    gauge(ROLLOUT, '20x30 0x30', 'instance="a",state="pending"'),
    gauge(ROLLOUT, '80x30 100x30', 'instance="a",state="applied"'),
  ),
  MusterConfigRejected: minutes(
    '20m',
    '32m',
    gauge(ROLLOUT, '10x30 0x30', 'instance="a",state="failed"'),
    gauge(ROLLOUT, '90x30 100x30', 'instance="a",state="applied"'),
  ),
  MusterAccountRolloutFailing: minutes(
    '30m',
    '50m',
    gauge('muster_rollout_failing_accounts', '1x40 0x60'),
    gauge('muster_rollout_top_failed_ratio', '1x40 stale', 'instance="a",account="acme"'),
  ),
  MusterEnrollmentsFailing: minutes(
    '28m',
    '50m',
    gauge('muster_enrollments_total', '0+5x30 150x60', 'instance="a",result="expired_code"'),
    gauge('muster_enrollments_total', '0+1x90', 'instance="a",result="enrolled"'),
  ),
  MusterAccountsLimited: minutes(
    '38m',
    '50m',
    gauge('muster_rate_limited_accounts', '1x40 0x60'),
    gauge('muster_rate_limit_top_refused', '90x40 0x60', 'instance="a",account="acme"'),
  ),
  MusterAccountQuotaEnds: minutes(
    '30m',
    '50m',
    gauge('muster_account_quota_left_seconds', '36000x40 172800x20', 'instance="a",account="acme"'),
  ),
  MusterAccountsNearQuota: minutes('30m', '50m', gauge('muster_accounts_near_quota', '1x40 0x20')),
  MusterRateLimiterSlow: minutes(
    '18m',
    '26m',
    gauge(DECISIONS, '0+90x60', 'instance="a",decision="admitted"'),
    gauge(DECISIONS, '0+10x20 200x60', 'instance="a",decision="unavailable"'),
  ),
  MusterRateLimitWaits: minutes(
    '49m',
    '58m',
    gauge('muster_rate_waited_total', '0+900x50 45000x60'),
    gauge(DECISIONS, '0+1000x90', 'instance="a",decision="admitted"'),
  ),
  MusterRateWindowBlind: minutes('10m', '22m', gauge('muster_rate_shared_age_seconds', '60x20 0x20')),
  MusterHeartbeatsNotWritten: minutes(
    '25m',
    '35m',
    gauge('muster_heartbeat_flushes_total', '0+6x30 180x60', 'instance="a",result="failed"'),
    gauge('muster_heartbeat_flushes_total', '0x30 0+6x60', 'instance="a",result="written"'),
  ),
  MusterCredentialShared: minutes('20m', '140m', gauge('muster_opamp_shared_credentials_total', '0x10 1x150')),
  MusterDetectionsDropped: minutes('20m', '80m', gauge('muster_detections_dropped_total', '0x10 5x100')),

  MusterInformerStale: minutes(
    '15m',
    '22m',
    gauge('muster_kubernetes_informer_age_seconds', '0+60x20 10x20', 'instance="a",resource="fleetapps"'),
  ),
  MusterInformerFailing: minutes(
    '28m',
    '50m',
    gauge(
      'muster_kubernetes_informer_failures_total',
      '0+2x30 60x60',
      'instance="a",resource="secrets",reason="refused"',
    ),
  ),
  MusterNamespaceNotFollowed: minutes(
    '15m',
    '22m',
    gauge('muster_kubernetes_namespaces', '1x20 0x20', 'instance="a",standing="not_granted"'),
  ),
  MusterReconcilesFailing: minutes(
    '38m',
    '70m',
    gauge(RECONCILES, '0+1x90', 'instance="a",kind="FleetApp",outcome="settled"'),
    gauge(RECONCILES, '0+9x40 360x60', 'instance="a",kind="FleetApp",outcome="failed"'),
  ),
  MusterSecretsNotWritten: minutes(
    '40m',
    '70m',
    gauge(FAILURES, '0+1x40 40x60', 'instance="a",kind="FleetApp",reason="SecretWriteFailed"'),
  ),
  MusterWriteConflict: minutes(
    '30m',
    '50m',
    gauge('muster_kubernetes_write_conflicts', '1x31 0x40', 'instance="a",kind="FleetApiKey"'),
  ),
  MusterResourcesNotReady: minutes(
    '40m',
    '52m',
    gauge('muster_kubernetes_resources', '2x50 0x30', 'instance="a",kind="FleetApp",ready="False"'),
  ),
};
