import type { Board } from './board.ts';
import { atLeast, lines, number, of, rising } from './panel.ts';
import { max, min, perMinute, quantile, rate, series, sum } from './query.ts';
import { STORE_ROWS } from './store-rows.ts';

const HOUR = 3600;
const LAST_NIGHT = 'muster_metering_last_night_timestamp_seconds';
const LOOPS = 'muster_loop_duration_seconds';

const metering = [
  number(
    {
      title: 'Last metered night ended',
      description:
        'Ago. Up to 24 hours and a few minutes is as it should be; above 26 it is late, above 50 a night is missing.',
      unit: 's',
      steps: rising(26 * HOUR, 50 * HOUR),
    },
    `time() - (${max(series(LAST_NIGHT))} > 0)`,
  ),
  number(
    {
      title: 'Leaders',
      description: 'Always one, but for seconds while it changes.',
      unit: 'opm',
      steps: [
        { color: 'red', from: null },
        { color: 'green', from: 1 },
        { color: 'red', from: 2 },
      ],
    },
    sum(series('muster_controller_leading')),
  ),
  number(
    { title: 'Replicas', description: 'That live, as they see one another in the store.', unit: 'short' },
    max(series('muster_replicas')),
  ),
  number(
    {
      title: 'Purges that wait for a key to be retired',
      description: 'Their ciphertext may lie in logs and backups, and a key in the key file still opens it.',
      unit: 'short',
      steps: rising(1, 1000),
    },
    max(series('muster_purges_awaiting_key_retirement')),
  ),
  lines(
    {
      title: 'Nights metered',
      description: 'One a day; late ones were rebuilt from recorded status changes, as exactly.',
      unit: 'short',
    },
    of(sum(`increase(${series('muster_metering_nights_total')}[1d])`, 'late'), 'late: {{late}}'),
  ),
  lines(
    { title: 'Time that the last night took', description: 'With its pauses, in which requests go on.', unit: 's' },
    of(max(series('muster_metering_night_seconds')), 'last night'),
  ),
];

const leadership = [
  lines(
    { title: 'Who leads', description: '1 on the replica whose controller leads.', unit: 'short' },
    of(max(series('muster_controller_leading'), 'instance'), '{{instance}}'),
  ),
  lines(
    {
      title: 'On the registry',
      description: '1 on a replica whose announcement the store has; 0 on one that a full store takes none of.',
      unit: 'short',
    },
    of(min(series('muster_replica_registered'), 'instance'), '{{instance}}'),
  ),
  lines(
    {
      title: 'Leaderships that ended',
      description: 'Stopped with the process, or lost because the lease could not be renewed.',
      unit: 'opm',
    },
    of(sum(perMinute('muster_controller_terms_total'), 'why'), '{{why}}'),
  ),
  lines(
    { title: 'Rounds of the loops', description: 'Of every background loop.', unit: 'ops' },
    of(sum(rate(`${LOOPS}_count`), 'loop', 'result'), '{{loop}} {{result}}'),
  ),
  lines(
    { title: 'Time of a round, p99', description: 'By loop; the night itself is in small pieces.', unit: 's' },
    of(quantile(0.99, LOOPS, '', 'loop'), '{{loop}}'),
  ),
  lines(
    {
      title: 'Clock trusted',
      description: 'Where it is 0, the replica ends no day.',
      unit: 'short',
      max: 1,
      steps: atLeast(1),
    },
    of(min(series('muster_clock_trusted'), 'instance'), '{{instance}}'),
  ),
  lines(
    {
      title: 'Clock apart by at least',
      description: 'Of the other replica whose clock is off the most.',
      unit: 's',
      steps: rising(1, 30),
    },
    of(max(series('muster_clock_skew_seconds'), 'instance'), '{{instance}}'),
  ),
  lines(
    { title: 'Audit entries sealed', description: 'Put into the chain of their account.', unit: 'ops' },
    of(sum(rate('muster_audit_sealed_total')), 'sealed'),
  ),
  lines(
    { title: 'Cleaned up', description: 'Expired things that the leader removed.', unit: 'ops' },
    of(sum(rate('muster_cleaned_total'), 'what'), '{{what}}'),
  ),
];

export const controlPlaneBoard: Board = {
  name: 'control-plane',
  title: 'Muster: metering and control plane',
  description: 'Nights, the leader and its loops, the store and the memory of it.',
  rows: [{ title: 'Metering', panels: metering }, { title: 'Leader and loops', panels: leadership }, ...STORE_ROWS],
};
