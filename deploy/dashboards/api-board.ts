import type { Board } from './board.ts';
import { lines, of, rising } from './panel.ts';
import { count, max, min, quantile, rate, series, sum } from './query.ts';

const REQUESTS = 'muster_http_request_duration_seconds';

const traffic = [
  lines(
    {
      title: 'Requests by listener and status',
      description: 'What is answered. 429 are accounts at their limit, 401 keys that are wrong or revoked.',
      unit: 'reqps',
      stacked: true,
    },
    of(sum(rate(`${REQUESTS}_count`), 'listener', 'status'), '{{listener}} {{status}}'),
  ),
  lines(
    { title: 'Requests by route', description: 'Which operations are used most.', unit: 'reqps' },
    of(sum(rate(`${REQUESTS}_count`, 'listener=~"api|device"'), 'route'), '{{route}}'),
  ),
  lines(
    {
      title: 'Refusals and failures by code',
      description: 'Answers with an error code: the service’s own failures are upstream_unavailable and overloaded.',
      unit: 'reqps',
    },
    of(sum(rate(`${REQUESTS}_count`, 'code!=""'), 'code'), '{{code}}'),
  ),
  lines(
    {
      title: 'Rejected',
      description: 'Above a bound of a listener, or no request of HTTP at all (below routing).',
      unit: 'reqps',
    },
    of(sum(rate('muster_http_rejected_total'), 'listener', 'why'), '{{listener}} {{why}}'),
  ),
  lines(
    {
      title: 'Latency of /v1',
      description: 'Of answers of 2xx and 304 on the api listener.',
      unit: 's',
      steps: rising(0.25, 1),
    },
    ...[0.5, 0.9, 0.99].map((share) =>
      of(quantile(share, REQUESTS, 'listener="api",status=~"2..|304"'), `p${share * 100}`),
    ),
  ),
  lines(
    { title: 'Latency by route, p99', description: 'One answer in a hundred takes longer.', unit: 's' },
    of(quantile(0.99, REQUESTS, 'listener="api",status=~"2..|304"', 'route'), '{{route}}'),
  ),
  lines(
    {
      title: 'Requests in flight',
      description: 'Requests whose answer has not left yet; on the device listener held polls are among them.',
      unit: 'short',
    },
    of(sum(series('muster_http_requests_in_flight'), 'listener'), '{{listener}}'),
  ),
  lines(
    {
      title: 'Certificates expire in',
      description:
        'Those of the listeners that have TLS, of the service at etcd, and of authorities, by the variable of their file.',
      unit: 's',
      steps: [
        { color: 'red', from: null },
        { color: 'yellow', from: 86_400 },
        { color: 'green', from: 604_800 },
      ],
    },
    of(`${min(series('muster_certificate_expiry_timestamp_seconds'), 'file')} - time()`, '{{file}}'),
  ),
];

const processes = [
  lines(
    { title: 'Processor', description: 'Cores in use; a replica can use little more than one.', unit: 'short' },
    of(sum(rate('process_cpu_seconds_total'), 'instance'), '{{instance}}'),
  ),
  lines(
    { title: 'Memory', description: 'Resident; it grows with the number of apps, and with held polls.', unit: 'bytes' },
    of(max(series('process_resident_memory_bytes'), 'instance'), '{{instance}}'),
  ),
  lines(
    {
      title: 'Event loop, p99 of its lag',
      description: 'How late work begins that is due. Everything waits for it.',
      unit: 's',
      steps: rising(0.1, 0.25),
    },
    of(max(series('nodejs_eventloop_lag_p99_seconds'), 'instance'), '{{instance}}'),
  ),
  lines(
    {
      title: 'File descriptors in use',
      description: 'Connections, most of all.',
      unit: 'percentunit',
      max: 1,
      steps: rising(0.7, 0.8),
    },
    of(`${series('process_open_fds')} / ${series('process_max_fds')}`, '{{instance}}'),
  ),
  lines(
    {
      title: 'Versions',
      description: 'Replicas by version: more than one only during an update.',
      unit: 'short',
    },
    of(count(series('muster_build_info'), 'version'), '{{version}}'),
  ),
  lines(
    {
      title: 'Files that cannot be used',
      description: 'By their variable: 1 where the file cannot be used, and its former content is.',
      unit: 'short',
      steps: rising(0.5, 1),
    },
    of(max(series('muster_file_unusable'), 'instance', 'file'), '{{instance}} {{file}}'),
  ),
  lines(
    { title: 'Running for', description: 'A line that falls to zero is a restart.', unit: 's' },
    of(`time() - ${max(series('process_start_time_seconds'), 'instance')}`, '{{instance}}'),
  ),
  lines(
    {
      title: 'Lines of the log dropped',
      description: 'Nobody took them from stdout, beyond the 1 MiB that waits.',
      unit: 'ops',
    },
    of(sum(rate('muster_log_lines_dropped_total'), 'instance'), '{{instance}}'),
  ),
];

export const apiBoard: Board = {
  name: 'api',
  title: 'Muster: API',
  description: 'Traffic and latency of the listeners, and the processes behind them.',
  rows: [
    { title: 'Traffic', panels: traffic },
    { title: 'Replicas', panels: processes },
  ],
};
