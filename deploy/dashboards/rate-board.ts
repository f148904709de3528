import type { Board } from './board.ts';
import { lines, number, of, rising, table, UNNAMED } from './panel.ts';
import { max, perMinute, quantile, rate, series, sum } from './query.ts';

const DECISIONS = 'muster_rate_decisions_total';
const FILL = 'muster_rate_window_fill_ratio';

const TOP_REFUSED = 'muster_rate_limit_top_refused';
const TOP_FILL = 'muster_rate_limit_top_fill_ratio';
const REFUSED_REQUESTS = 'listener="api",status="429"';

const now = [
  number(
    {
      title: 'Accounts limited now',
      description: 'Refused with 429 within the last minute by any replica; each is counted once.',
      unit: 'short',
      steps: rising(1, 10),
      alert: 'MusterAccountsLimited',
    },
    max(series('muster_rate_limited_accounts')),
  ),
  number(
    {
      title: 'Accounts that used a quarter of their window',
      description: 'Over all replicas; each is counted once.',
      unit: 'short',
    },
    sum(series(`${FILL}_count`)),
  ),
  number(
    {
      title: 'Accounts above 90 % of their window',
      description: 'They are limited, or about to be; each is counted once.',
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

export const limitedAccounts = table(
  {
    title: 'Accounts limited now, or near it',
    description:
      'At most 20, and for 5 minutes after it is over. By which key and operation, since when and until when: `muster limits`.',
    unit: 'short',
    alert: 'MusterAccountsLimited',
    mayBeEmpty: `while no account has used a quarter of its window, and ${UNNAMED}`,
  },
  'account',
  { name: 'Refused in the last minute', expr: max(series(TOP_REFUSED), 'account') },
  { name: 'Fill of the window', expr: max(series(TOP_FILL), 'account') },
);

const windows = [
  limitedAccounts,
  lines(
    {
      title: 'Fill of the fullest windows',
      description: 'How near the limit each of these accounts is; a falling line shows when it lifts.',
      unit: 'percentunit',
      max: 1,
      steps: rising(0.75, 0.99),
      alert: 'MusterAccountsLimited',
    },
    of(max(series(TOP_FILL), 'account'), '{{account}}'),
  ),
  lines(
    {
      title: 'Refused, by method and route',
      description: 'Requests of /v1 that were answered with 429.',
      unit: 'opm',
      stacked: true,
    },
    of(
      sum(perMinute('muster_http_request_duration_seconds_count', REFUSED_REQUESTS), 'method', 'route'),
      '{{method}} {{route}}',
    ),
  ),
  lines(
    {
      title: 'Decisions',
      description: 'Of the accounts’ windows of 600 requests a minute; unavailable ones are 502.',
      unit: 'reqps',
      stacked: true,
      alert: 'MusterRateLimiterSlow',
    },
    of(sum(rate(DECISIONS), 'decision'), '{{decision}}'),
  ),
  lines(
    {
      title: 'Time of a decision, 99 %',
      description: 'From memory in microseconds; one that needs a commit takes as long as that.',
      unit: 's',
      steps: rising(0.1, 0.5),
      alert: 'MusterRateLimiterSlow',
    },
    of(quantile(0.99, 'muster_rate_decision_duration_seconds', '', 'result'), '{{result}}'),
  ),
  lines(
    {
      title: 'Time of a 429',
      description: 'A refusal must cost nearly nothing: it is what protects the others.',
      unit: 's',
    },
    of(quantile(0.99, 'muster_http_request_duration_seconds', REFUSED_REQUESTS), 'p99'),
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
      alert: 'MusterRateLimitWaits',
    },
    of(sum(rate('muster_rate_waited_total'), 'instance'), '{{instance}}'),
  ),
  lines(
    {
      title: 'Behind the other replicas for',
      description: 'A replica that does not receive what the others write admits less than it could.',
      unit: 's',
      steps: rising(5, 30),
      alert: 'MusterRateWindowBlind',
    },
    of(max(series('muster_rate_shared_age_seconds'), 'instance'), '{{instance}}'),
  ),
  lines(
    {
      title: 'Clocks apart by at least',
      description: 'For certain, as the replicas learnt from one another.',
      unit: 's',
      steps: rising(0.5, 1),
      alert: 'MusterClocksApart',
    },
    of(max(series('muster_clock_skew_seconds'), 'instance'), '{{instance}}'),
  ),
  lines(
    {
      title: 'Records of windows that were repaired',
      description: 'They could not be read, and were written anew as spent whole.',
      unit: 'opm',
      alert: 'MusterRecordsUnreadable',
    },
    of(sum(perMinute('muster_rate_records_repaired_total'), 'instance'), '{{instance}}'),
  ),
];

const quotas = [
  number(
    {
      title: 'Accounts near their quota',
      description: 'They store 80 % of their quota or more.',
      unit: 'short',
      steps: rising(1, 10),
      alert: 'MusterAccountsNearQuota',
    },
    max(series('muster_accounts_near_quota')),
  ),
  number(
    {
      title: 'Accounts at their quota',
      description: 'What they create and change is refused with 502.',
      unit: 'short',
      steps: rising(1, 1),
      alert: 'MusterAccountsNearQuota',
    },
    max(series('muster_accounts_at_quota')),
  ),
  table(
    {
      title: 'Accounts whose quotas end first',
      description: 'The three of them, at the growth of the last hours.',
      unit: 's',
      alert: 'MusterAccountQuotaEnds',
      mayBeEmpty: `while no account grows, and ${UNNAMED}`,
    },
    'account',
    { name: 'Time until the quota is used up', expr: max(series('muster_account_quota_left_seconds'), 'account') },
  ),
  lines(
    {
      title: 'Accounts that grow fastest',
      description: 'The three of them, by what they store.',
      unit: 'Bps',
      alert: 'MusterAccountsNearQuota',
      mayBeEmpty: `while no account grows, and ${UNNAMED}`,
    },
    of(max(series('muster_account_growth_top_bytes_per_second'), 'account'), '{{account}}'),
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
    { title: 'Quotas', panels: quotas },
    { title: 'Devices', panels: devices },
  ],
};
