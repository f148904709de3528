import type { Board } from './board.ts';
import { atLeast, lines, number, of, rising, table } from './panel.ts';
import { count, INSTALLATION, max, perMinute, series, sum } from './query.ts';
import { limitedAccounts } from './rate-board.ts';
import { budgets } from './slo-board.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const FIRING = `ALERTS{${INSTALLATION},alertname=~"Muster.+",alertstate="firing"}`;
const LAST_NIGHT = 'muster_metering_last_night_timestamp_seconds';

const firing = [
  number(
    {
      title: 'Alerts firing',
      description: 'Of this installation, of any severity.',
      unit: 'short',
      steps: rising(1, 2),
      mayBeEmpty: 'while nothing fires',
      width: 4,
    },
    count(FIRING),
  ),
  table(
    {
      title: 'Which alerts',
      description: 'Each has a section of its name in the runbook.',
      unit: 'short',
      mayBeEmpty: 'while nothing fires',
      width: 20,
    },
    'alertname',
    { name: 'Firing', expr: count(FIRING, 'alertname', 'severity', 'namespace', 'job') },
  ),
];

const installation = [
  number(
    {
      title: 'Replicas scraped',
      description: 'That answer Prometheus.',
      unit: 'short',
      steps: atLeast(1),
      alert: 'MusterReplicasMissing',
      width: 4,
    },
    count(series('muster_build_info')),
  ),
  number(
    {
      title: 'Replicas on the registry',
      description: 'That announce themselves in the store.',
      unit: 'short',
      steps: atLeast(1),
      alert: 'MusterReplicasMissing',
      width: 4,
    },
    max(series('muster_replicas')),
  ),
  number(
    {
      title: 'Leader',
      description: 'The replica that meters, purges, seals and reconciles.',
      unit: 'short',
      steps: atLeast(1),
      alert: 'MusterNoLeader',
      width: 6,
    },
    `${max(series('muster_controller_leading'), 'instance')} == 1`,
    '{{instance}}',
  ),
  number(
    {
      title: 'Replicas with the store',
      description: 'Whose memory is filled, and whose store answers.',
      unit: 'short',
      steps: atLeast(1),
      alert: 'MusterStoreDown',
      width: 4,
    },
    sum(series('muster_watch_cache_ready')),
  ),
  number(
    {
      title: 'Versions',
      description: 'How many replicas run each.',
      unit: 'short',
      alert: 'MusterVersionsDiffer',
      width: 6,
    },
    count(series('muster_build_info'), 'version'),
    '{{version}}',
  ),
];

const kept = [
  number(
    {
      title: 'Last metered night ended',
      description: 'Ago. Up to 24 hours and a few minutes is as it should be; above 26 it is late.',
      unit: 's',
      steps: rising(26 * HOUR, 50 * HOUR),
      alert: 'MusterMeteringLate',
    },
    `time() - (${max(series(LAST_NIGHT))} > 0)`,
  ),
  number(
    {
      title: 'Last backup',
      description: 'How old the store is that the last whole backup has; empty where there is none.',
      unit: 's',
      steps: rising(26 * HOUR, 50 * HOUR),
      alert: 'MusterBackupOld',
      mayBeEmpty: 'before the first backup',
    },
    `time() - (${max(series('muster_backup_last_timestamp_seconds'))} > 0)`,
  ),
  number(
    {
      title: 'Oldest purge in the history',
      description: 'A minute is promised; 0 where there is none.',
      unit: 's',
      steps: rising(2 * MINUTE, 5 * MINUTE),
      alert: 'MusterPurgeNotForgotten',
    },
    max(series('muster_purge_oldest_age_seconds')),
  ),
  number(
    {
      title: 'Fullness of the store',
      description: 'From 80 % on nothing new can be created.',
      unit: 'percentunit',
      max: 1,
      steps: rising(0.7, 0.8),
      alert: 'MusterStoreNearlyFull',
    },
    max(series('muster_store_fullness_ratio')),
  ),
];

const access = [
  limitedAccounts,
  lines(
    {
      title: 'Who tried to get in',
      description: 'Secrets that let nobody in; the log has the clients, and the audit the keys.',
      unit: 'opm',
      alert: 'MusterAuthenticationFailing',
    },
    of(
      sum(perMinute('muster_authentication_failures_total', 'reason!="malformed"'), 'credential', 'reason'),
      '{{credential}} {{reason}}',
    ),
  ),
  lines(
    {
      title: 'Refused by role',
      description: 'Requests that the role of an operator token or of a person does not include; the audit has whose.',
      unit: 'opm',
    },
    of(sum(perMinute('muster_role_refusals_total'), 'role'), '{{role}}'),
  ),
  lines(
    {
      title: 'Passwords not compared',
      description: 'By the bound that was reached: the name, the address, or the places for hashing.',
      unit: 'opm',
      alert: 'MusterAuthenticationFailing',
    },
    of(sum(perMinute('muster_sign_ins_refused_total'), 'bound'), '{{bound}}'),
  ),
  lines(
    {
      title: 'Refused by the provider, with API keys',
      description: 'Users whom the provider of sign-ins refused, and whose API keys still work.',
      unit: 'short',
      alert: 'MusterRefusedUsersHoldKeys',
    },
    of(max(series('muster_users_refused_with_keys')), 'users'),
  ),
  lines(
    {
      title: 'Failed secrets that are not in the audit',
      description: 'Entries that were dropped, since the store was too full.',
      unit: 'opm',
      alert: 'MusterAuditAttemptsDropped',
    },
    of(sum(perMinute('muster_audit_attempts_dropped_total')), 'dropped'),
  ),
  lines(
    {
      title: 'Audit not yet written as lines',
      description: 'The age of the oldest entry that MUSTER_AUDIT_LOG waits for.',
      unit: 's',
      alert: 'MusterAuditLogBehind',
    },
    of(max(series('muster_audit_log_lag_seconds')), 'oldest entry'),
  ),
  lines(
    {
      title: 'Audit written as lines',
      description: 'Entries that MUSTER_AUDIT_LOG has taken, repeats included.',
      unit: 'opm',
    },
    of(sum(perMinute('muster_audit_log_lines_total')), 'lines'),
  ),
  lines(
    {
      title: 'Exports that began',
      description: 'Backups, usage and audit that somebody took away; the audit of the service has who.',
      unit: 'opm',
    },
    of(sum(perMinute('muster_exports_total'), 'export'), '{{export}}'),
  ),
  lines(
    {
      title: 'Replicas with other operator tokens',
      description: 'As each replica sees the others: above 0 a token works or not by the replica that is asked.',
      unit: 'short',
      steps: rising(1, 2),
      alert: 'MusterOperatorTokensDiffer',
    },
    of(max(series('muster_replicas_with_other_operator_tokens'), 'instance'), '{{instance}}'),
  ),
];

export const overviewBoard: Board = {
  name: 'overview',
  title: 'Muster: overview',
  description: 'Whether all is well, and where to look when it is not.',
  rows: [
    { title: 'Alerts', panels: firing },
    { title: 'Objectives', panels: budgets },
    { title: 'Installation', panels: installation },
    { title: 'Kept', panels: kept },
    { title: 'Accounts', panels: access },
  ],
};
