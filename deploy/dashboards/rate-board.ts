import type { Board } from './board.ts';
import { lines, number, of, rising } from './panel.ts';
import { max, quantile, rate, series, sum } from './query.ts';

const DECISIONS = 'muster_rate_decisions_total';
const FILL = 'muster_rate_window_fill_ratio';

const now = [
  number(
    {
      title: 'Accounts limited now',
      description: 'Refused with 429 within the last minute. Which ones is in the log.',
      unit: 'short',
      steps: rising(1, 10),
    },
    max(series('muster_rate_limited_accounts')),
  ),
  number(
    { title: 'Accounts seen in the last minute', description: 'By the replica that saw most.', unit: 'short' },
    max(series(`${FILL}_count`)),
  ),
  number(
    {
      title: 'Accounts above 90 % of their window',
      description: 'They are about to be limited.',
      unit: 'short',
      steps: rising(1, 10),
    },
    `${sum(series(`${FILL}_count`))} - ${sum(series(`${FILL}_bucket`, 'le="0.9"'))}`,
  ),
  number(
    {
      title: 'Limited, of all requests',
      description: 'The share of requests of /v1 that were refused with 429.',
      unit: 'percentunit',
      steps: rising(0.01, 0.1),
    },
    `${sum(rate(DECISIONS, 'decision="limited"'))} / ${sum(rate(DECISIONS))}`,
  ),
];

const windows = [
  lines(
    {
      title: 'Decisions',
      description: 'Of the accounts’ windows of 600 requests a minute.',
      unit: 'reqps',
      stacked: true,
    },
    of(sum(rate(DECISIONS), 'decision'), '{{decision}}'),
  ),
  lines(
    {
      title: 'Fill of the windows',
      description: 'Of the accounts seen in the last minute: half of them are below p50.',
      unit: 'percentunit',
      max: 1,
      steps: rising(0.75, 0.99),
    },
    ...[0.5, 0.9, 0.99].map((share) =>
      of(`histogram_quantile(${share}, ${sum(series(`${FILL}_bucket`), 'le')})`, `p${share * 100}`),
    ),
  ),
  lines(
    { title: 'Accounts limited', description: 'Within the last minute, by replica.', unit: 'short' },
    of(series('muster_rate_limited_accounts'), '{{instance}}'),
  ),
  lines(
    {
      title: 'Time of a 429',
      description: 'A refusal must cost nearly nothing: it is what protects the others.',
      unit: 's',
    },
    of(quantile(0.99, 'muster_http_request_duration_seconds', 'listener="api",status="429"'), 'p99'),
  ),
];

const shared = [
  lines(
    {
      title: 'Allotments of windows',
      description:
        'With MUSTER_RATE_WINDOW=shared: taken ahead, returned in time, and settled only after their end (a replica that was paused or cut off).',
      unit: 'ops',
    },
    of(sum(rate('muster_rate_allotments_total'), 'what'), '{{what}}'),
  ),
  lines(
    {
      title: 'Requests that waited for the store',
      description: 'Near the limit requests are charged one group at a time, by a commit.',
      unit: 'reqps',
    },
    of(sum(rate('muster_rate_waited_total'), 'instance'), '{{instance}}'),
  ),
  lines(
    {
      title: 'Behind the other replicas for',
      description: 'A replica that does not receive what the others write admits less than it could.',
      unit: 's',
      steps: rising(5, 30),
    },
    of(max(series('muster_rate_shared_age_seconds'), 'instance'), '{{instance}}'),
  ),
  lines(
    {
      title: 'Clocks apart by at least',
      description: 'Above a second a shared window may admit more than 600 in a minute.',
      unit: 's',
      steps: rising(0.5, 1),
    },
    of(max(series('muster_clock_skew_seconds'), 'instance'), '{{instance}}'),
  ),
];

const devices = [
  lines(
    {
      title: 'Polls refused as too many',
      description: 'Of a device that polls more often than MUSTER_DEVICE_RATE_PER_MINUTE: a daemon gone wild.',
      unit: 'reqps',
    },
    of(sum(rate('muster_polls_total', 'result="rate_limited"'), 'instance'), '{{instance}}'),
  ),
];

export const rateBoard: Board = {
  name: 'rate-limiting',
  title: 'Muster: rate limiting',
  description: 'The accounts’ windows of 600 requests a minute, and the guard of the device listener.',
  rows: [
    { title: 'Now', panels: now },
    { title: 'Windows', panels: windows },
    { title: 'Windows that replicas share', panels: shared },
    { title: 'Devices', panels: devices },
  ],
};
