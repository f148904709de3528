import { atLeast, lines, of, rising, type Row } from './panel.ts';
import { perMinute, max, orNone, quantile, rate, series, sum } from './query.ts';

/* The lower half of the board of the control plane: the store, its memory, keys and Kubernetes. */

const STORE = 'muster_store_operation_duration_seconds';
const TROUBLE = 'result=~"timeout|unreachable|full|refused|divided|closed|failed"';

const store = [
  lines(
    { title: 'Operations', description: 'Of the store, by kind.', unit: 'ops' },
    of(sum(rate(`${STORE}_count`), 'operation'), '{{operation}}'),
  ),
  lines(
    {
      title: 'Operations that failed',
      description: 'Timeouts, refusals and members that cannot be reached, of all operations.',
      unit: 'percentunit',
      steps: rising(0.01, 0.05),
    },
    of(
      `${orNone(sum(rate(`${STORE}_count`, TROUBLE)), sum(rate(`${STORE}_count`)))} / ${sum(rate(`${STORE}_count`))}`,
      'failed',
    ),
  ),
  lines(
    {
      title: 'Time of an operation, p99',
      description: 'A commit waits for the disks of a majority, a head for a round trip.',
      unit: 's',
      steps: rising(0.25, 0.5),
    },
    of(quantile(0.99, STORE, '', 'operation'), '{{operation}}'),
  ),
  lines(
    {
      title: 'Commits sent again',
      description: 'After a conflict (somebody was faster), or where the answer was lost.',
      unit: 'ops',
    },
    of(sum(rate('muster_commits_repeated_total'), 'why'), '{{why}}'),
  ),
  lines(
    {
      title: 'Fullness',
      description: 'Of the quota. From 80 % on nothing new is created, so that revocations still go through.',
      unit: 'percentunit',
      max: 1,
      steps: rising(0.7, 0.8),
    },
    of(max(series('muster_store_fullness_ratio'), 'instance'), '{{instance}}'),
  ),
  lines(
    { title: 'Compactions', description: 'Of the history: every 5 minutes, and after a purge.', unit: 'opm' },
    of(sum(perMinute('muster_compactions_total'), 'result'), '{{result}}'),
  ),
];

const memory = [
  lines(
    {
      title: 'Memory ready',
      description:
        '1 where memory is filled and the store has answered within 5 s; else the replica is out of the rotation.',
      unit: 'short',
      max: 1,
      steps: atLeast(1),
    },
    of(max(series('muster_watch_cache_ready'), 'instance'), '{{instance}}'),
  ),
  lines(
    {
      title: 'Behind the store',
      description: 'Revisions, at the last read. For moments it is normal.',
      unit: 'short',
      steps: rising(1, 100),
    },
    of(max(series('muster_watch_cache_lag_revisions'), 'instance'), '{{instance}}'),
  ),
  lines(
    {
      title: 'Reads that went to the store',
      description: 'Because memory had not caught up within 50 ms: right, but slow.',
      unit: 'reqps',
    },
    of(sum(rate('muster_watch_cache_behind_total'), 'instance'), '{{instance}}'),
  ),
  lines(
    {
      title: 'Comparisons with the store',
      description: 'Every 5 minutes. `different` must never be.',
      unit: 'opm',
    },
    of(sum(perMinute('muster_watch_cache_consistency_checks_total'), 'verdict'), '{{verdict}}'),
  ),
  lines(
    { title: 'Watches that ended', description: 'And were opened again, where they broke off.', unit: 'opm' },
    of(sum(perMinute('muster_watch_cache_watch_ends_total'), 'reason'), '{{reason}}'),
    of(sum(perMinute('muster_watch_cache_relists_total')), 'listed anew'),
  ),
  lines(
    {
      title: 'Records that cannot be read',
      description: 'Written by hand, or damaged.',
      unit: 'opm',
      steps: rising(1, 2),
    },
    of(sum(perMinute('muster_records_unreadable_total')), 'unreadable'),
  ),
];

const keys = [
  lines(
    { title: 'Key rotations', description: 'Of the key-encryption key.', unit: 'opm' },
    of(sum(perMinute('muster_key_rotations_total')), 'rotations'),
  ),
  lines(
    { title: 'Secrets rewrapped', description: 'Under the active key, after a rotation.', unit: 'ops' },
    of(sum(rate('muster_rewrapped_total')), 'rewrapped'),
  ),
];

const kubernetes = [
  lines(
    { title: 'Custom resources', description: 'By kind and the status of Ready.', unit: 'short' },
    of(sum(series('muster_kubernetes_resources'), 'kind', 'ready'), '{{kind}} {{ready}}'),
  ),
  lines(
    { title: 'Held back', description: 'Custom resources whose Secret others keep changing.', unit: 'short' },
    of(sum(series('muster_kubernetes_write_conflicts'), 'kind'), '{{kind}}'),
  ),
  lines(
    {
      title: 'Since the API server last spoke',
      description: 'By resource. Bookmarks come every minute or so.',
      unit: 's',
      steps: rising(300, 900),
    },
    of(max(series('muster_kubernetes_informer_age_seconds'), 'resource'), '{{resource}}'),
  ),
  lines(
    { title: 'Reconciliations', description: 'By how they ended.', unit: 'ops' },
    of(sum(rate('muster_kubernetes_reconcile_duration_seconds_count'), 'kind', 'outcome'), '{{kind}} {{outcome}}'),
  ),
  lines(
    { title: 'Time of a reconciliation, p99', description: 'By kind of resource.', unit: 's' },
    of(quantile(0.99, 'muster_kubernetes_reconcile_duration_seconds', '', 'kind'), '{{kind}}'),
  ),
  lines(
    { title: 'Requests to the API server', description: 'By method and answer.', unit: 'reqps' },
    of(sum(rate('muster_kubernetes_requests_total'), 'method', 'answer'), '{{method}} {{answer}}'),
  ),
  lines(
    { title: 'Waiting to be reconciled', description: 'Resources in the queue of the leader.', unit: 'short' },
    of(sum(series('muster_kubernetes_queued')), 'queued'),
  ),
  lines(
    {
      title: 'Namespaces',
      description: 'Those that are to be followed, by how the operator stands to them.',
      unit: 'short',
      alert: 'MusterNamespaceNotFollowed',
    },
    of(max(series('muster_kubernetes_namespaces'), 'standing'), '{{standing}}'),
  ),
  lines(
    {
      title: 'Lists and watches that failed',
      description: 'By resource and reason; gone and expired are ordinary ends of a watch.',
      unit: 'opm',
      alert: 'MusterInformerFailing',
    },
    of(sum(perMinute('muster_kubernetes_informer_failures_total'), 'resource', 'reason'), '{{resource}} {{reason}}'),
  ),
  lines(
    {
      title: 'Full listings',
      description: 'At the start, every ten minutes, and after a watch that lost its place.',
      unit: 'opm',
    },
    of(sum(perMinute('muster_kubernetes_lists_total'), 'resource'), '{{resource}}'),
  ),
  lines(
    {
      title: 'Bindings forgotten',
      description: 'Their custom resource is gone without its clean-up.',
      unit: 'opm',
    },
    of(sum(perMinute('muster_kubernetes_bindings_forgotten_total'), 'kind'), '{{kind}}'),
  ),
];

export const STORE_ROWS: readonly Row[] = [
  { title: 'Store', panels: store },
  { title: 'Memory', panels: memory },
  { title: 'Keys', panels: keys },
  { title: 'Kubernetes (where the role is on)', panels: kubernetes },
];
