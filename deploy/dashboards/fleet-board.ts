import type { Board } from './board.ts';
import { lines, number, of, rising, table, UNNAMED } from './panel.ts';
import { perMinute, max, quantile, rate, series, sum } from './query.ts';

const DEVICES = 'muster_rollout_devices';
const TOP = 'muster_rollout_top_devices';
const FAILING = 'muster_rollout_top_failed_ratio';
const REFUSED = 'result!~"enrolled|replayed"';

const now = [
  number(
    { title: 'Accounts', description: 'All of them, disabled ones too.', unit: 'opm' },
    max(series('muster_accounts')),
  ),
  number({ title: 'Apps', description: 'Of all accounts, in every state.', unit: 'short' }, max(series('muster_apps'))),
  number(
    {
      title: 'Polls held',
      description: 'Daemons that wait for a change of their configuration at this moment.',
      unit: 'short',
    },
    sum(series('muster_held_polls')),
  ),
  number(
    {
      title: 'Have the configuration',
      description: 'Of the cloud devices that poll, those that applied the current one.',
      unit: 'percentunit',
      max: 1,
      steps: [
        { color: 'red', from: null },
        { color: 'yellow', from: 0.9 },
        { color: 'green', from: 0.99 },
      ],
    },
    `${sum(series(DEVICES, 'state="applied"'))} / ${sum(series(DEVICES, 'state=~"applied|failed|pending"'))}`,
  ),
];

const delivery = [
  lines(
    {
      title: 'Devices by what they did with the configuration',
      description: 'Cloud devices of Enterprise accounts, counted by the leader once a minute. Stale ones do not poll.',
      unit: 'short',
      stacked: true,
    },
    of(sum(series(DEVICES), 'state'), '{{state}}'),
  ),
  lines(
    {
      title: 'From a change to the daemon',
      description:
        'How long daemons that had an older configuration waited for the current one. Held polls get it at once.',
      unit: 's',
      steps: rising(120, 300),
    },
    ...[0.5, 0.9, 0.99].map((share) => of(quantile(share, 'muster_rollout_receipt_lag_seconds'), `p${share * 100}`)),
  ),
  lines(
    { title: 'Configurations received', description: 'By daemons that had an older one.', unit: 'ops' },
    of(sum(rate('muster_rollout_receipt_lag_seconds_count')), 'received'),
  ),
  lines(
    { title: 'Configurations changed', description: 'Stored and purged by owners.', unit: 'opm' },
    of(sum(perMinute('muster_mutations_total', 'action=~"otel.stored|otel.purged"'), 'action'), '{{action}}'),
  ),
  lines(
    {
      title: 'Tests of collectors',
      description: 'That owners made in the panel, by outcome.',
      unit: 'opm',
    },
    of(sum(perMinute('muster_collector_tests_total'), 'outcome'), '{{outcome}}'),
  ),
];

const accounts = [
  table(
    {
      title: 'Accounts with the most devices without the configuration',
      description:
        'At most 20 of each state, counted by the leader once a minute. All four rankings: `muster rollout list`.',
      unit: 'short',
      alert: 'MusterAccountRolloutFailing',
      mayBeEmpty: `while every device has its configuration, and ${UNNAMED}`,
    },
    'account',
    { name: 'Failed', expr: max(series(TOP, 'state="failed"'), 'account') },
    { name: 'Pending', expr: max(series(TOP, 'state="pending"'), 'account') },
    { name: 'Stale', expr: max(series(TOP, 'state="stale"'), 'account') },
  ),
  lines(
    {
      title: 'Failed, of the devices of a failing account',
      description:
        'The 20 largest accounts of which half or more of the devices that poll could not apply the configuration.',
      unit: 'percentunit',
      max: 1,
      alert: 'MusterAccountRolloutFailing',
      mayBeEmpty: `while no rollout fails, and ${UNNAMED}`,
    },
    of(max(series(FAILING), 'account'), '{{account}}'),
  ),
  lines(
    {
      title: 'Accounts whose rollout fails',
      description: 'All of them, those without series of their own too.',
      unit: 'short',
      steps: rising(1, 10),
      alert: 'MusterAccountRolloutFailing',
    },
    of(max(series('muster_rollout_failing_accounts')), 'failing'),
  ),
];

const polls = [
  lines(
    {
      title: 'Polls by result',
      description: 'not_modified is what a fleet at rest does; invalid_credential are daemons that were cut off.',
      unit: 'reqps',
      stacked: true,
    },
    of(sum(rate('muster_polls_total'), 'result'), '{{result}}'),
  ),
  lines(
    {
      title: 'Messages of OpAMP by result',
      description:
        'unchanged is what agents at rest send; empty_offered are agents that could not load their configuration.',
      unit: 'reqps',
      stacked: true,
    },
    of(sum(rate('muster_opamp_messages_total'), 'result'), '{{result}}'),
  ),
  lines(
    {
      title: 'Latency of polls that are not held',
      description: 'What a daemon waits for an answer that is there.',
      unit: 's',
      steps: rising(0.1, 0.25),
    },
    ...[0.5, 0.99].map((share) =>
      of(
        quantile(share, 'muster_http_request_duration_seconds', 'route="/device/v1/config",status=~"200|304"'),
        `p${share * 100}`,
      ),
    ),
  ),
  lines(
    { title: 'Polls held, by replica', description: 'Each is an open connection.', unit: 'short' },
    of(series('muster_held_polls'), '{{instance}}'),
  ),
  lines(
    {
      title: 'Last contacts written',
      description: 'Records by result; a conflict is written with the next round, a failure is not written yet.',
      unit: 'ops',
    },
    of(sum(rate('muster_heartbeat_flushes_total'), 'result'), '{{result}}'),
  ),
  lines(
    {
      title: 'Held polls that gave way',
      description: 'To a newer one of their credential or to another account; replica: all places were taken.',
      unit: 'opm',
      stacked: true,
    },
    of(sum(perMinute('muster_held_polls_ended_total'), 'bound'), '{{bound}}'),
  ),
  lines(
    {
      title: 'Full states that OpAMP agents were asked for',
      description: 'After a restart of an agent, or of a replica that knew its state.',
      unit: 'opm',
    },
    of(sum(perMinute('muster_opamp_full_state_requests_total')), 'asked'),
  ),
];

const enrollment = [
  lines(
    {
      title: 'Enrollments',
      description: 'A replay is the same daemon that asks again after a lost answer.',
      unit: 'opm',
    },
    of(sum(perMinute('muster_enrollments_total', 'result=~"enrolled|replayed"'), 'result'), '{{result}}'),
  ),
  lines(
    {
      title: 'Refused enrollments by reason',
      description: 'The daemon is told no more than invalid_code; this is the true reason.',
      unit: 'opm',
      stacked: true,
    },
    of(sum(perMinute('muster_enrollments_total', REFUSED), 'result'), '{{result}}'),
  ),
  lines(
    {
      title: 'Changes to apps',
      description: 'Created, revoked and deleted apps, and further codes.',
      unit: 'opm',
    },
    of(sum(perMinute('muster_mutations_total', 'action=~"app.+|code.+"'), 'action'), '{{action}}'),
  ),
  lines(
    {
      title: 'Detections dropped',
      description: 'Entries of review queues that made room for newer ones: nobody has looked at them.',
      unit: 'opm',
      steps: rising(1, 100),
    },
    of(sum(perMinute('muster_detections_dropped_total')), 'dropped'),
  ),
];

export const fleetBoard: Board = {
  name: 'fleet',
  title: 'Muster: fleet and delivery',
  description: 'Daemons: how they enroll, poll and receive their configuration.',
  rows: [
    { title: 'Now', panels: now },
    { title: 'Delivery', panels: delivery },
    { title: 'Rollouts by account', panels: accounts },
    { title: 'Polls', panels: polls },
    { title: 'Enrollment and apps', panels: enrollment },
  ],
};
