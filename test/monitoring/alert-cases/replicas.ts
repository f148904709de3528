import { API, DAY, gauge, JOB, REPLICA, type AlertCases } from './case.ts';

const CERTIFICATE = { ...JOB, file: 'MUSTER_API_TLS_CERT_FILE' };

const build = (value: string, instance = 'a'): Record<string, string> =>
  gauge('muster_build_info', value, `instance="${instance}"`);
/** In steps of a minute, which begin at 0. */
const CLOCK = '0+60x60';

export const REPLICAS_CASES: AlertCases = {
  MusterDown: {
    fires: {
      why: 'both are gone from the discovery',
      series: { ...build('1x10 stale'), ...build('1x8 stale', 'b') },
      at: '20m',
    },
    alsoFires: [
      {
        why: 'both are there for Prometheus, and do not answer',
        series: { ...build('1x10 stale'), ...gauge('up', '1x10 0x30') },
        at: '20m',
      },
      { why: 'it has been so for hours', series: build('1x2 stale'), at: '1000m', step: '10m' },
      {
        why: 'they have not answered for days, and Prometheus goes on to ask them',
        series: { ...build('1x2 stale'), ...gauge('up', '1x2 0x600') },
        at: '4000m',
        step: '10m',
      },
      {
        why: 'the only ones there were have been gone for days',
        series: build('1x2 stale'),
        at: '4000m',
        step: '10m',
        labels: {},
      },
      { why: 'there is no series at all', series: {}, at: '10m', labels: {} },
      { why: 'nothing was ever scraped', series: gauge('up', '1x30', 'job="other"'), at: '10m', labels: {} },
    ],
    labels: JOB,
    quiet: [
      { why: 'one is left', series: { ...build('1x10 stale'), ...build('1x60', 'b') }, at: '20m' },
      { why: 'one came back', series: build('1x10 stale stale stale stale stale 1x30'), at: '20m' },
      {
        why: 'one of several installations was removed days ago',
        series: { ...build('1x10 stale'), ...gauge('muster_build_info', '1x300', 'instance="b",job="other"') },
        at: '2000m',
        step: '10m',
      },
    ],
  },
  MusterReplicasMissing: {
    fires: {
      why: 'one of three is gone',
      series: { ...build('1x400'), ...build('1x300 stale', 'c'), ...gauge('muster_replicas', '3x300 2x100') },
      at: '330m',
    },
    alsoFires: [
      {
        why: 'one on the registry is not scraped any more',
        series: { ...build('1x400'), ...build('1x300 stale', 'b'), ...gauge('muster_replicas', '2x400') },
        at: '330m',
      },
      {
        why: 'one that was added is not scraped',
        series: { ...build('1x400'), ...gauge('muster_replicas', '1x300 2x100') },
        at: '330m',
      },
      {
        why: 'an autoscaler took two of five away, eleven hours ago',
        series: { ...build('1x300'), ...gauge('muster_replicas', `5x${DAY} 3x100`) },
        at: '2100m',
        step: '10m',
      },
    ],
    labels: JOB,
    quiet: [
      {
        why: 'it came back',
        series: {
          ...build('1x400'),
          ...build('1x300 stale stale stale 1x100', 'c'),
          ...gauge('muster_replicas', '2x300 1x2 2x100'),
        },
        at: '330m',
      },
      {
        why: 'another Prometheus scrapes the others, also one that was added',
        series: { ...build('1x400'), ...gauge('muster_replicas', '2x300 3x100') },
        at: '330m',
      },
      {
        why: 'there are fewer for most of a day',
        series: { ...build('1x300'), ...build('1x150 stale', 'b'), ...gauge('muster_replicas', `2x${DAY} 1x100`) },
        at: '2220m',
        step: '10m',
      },
    ],
  },
  MusterClockWrong: {
    fires: { why: 'three seconds ahead', series: gauge('muster_wall_clock_seconds', '3+60x60'), at: '20m' },
    alsoFires: [{ why: 'three behind', series: gauge('muster_wall_clock_seconds', '-3+60x60'), at: '20m' }],
    labels: REPLICA,
    quiet: [
      { why: 'a scrape takes a second', series: gauge('muster_wall_clock_seconds', '1+60x60'), at: '20m' },
      { why: 'it is exact', series: gauge('muster_wall_clock_seconds', CLOCK), at: '20m' },
      {
        why: 'one scrape came late',
        series: gauge('muster_wall_clock_seconds', '0+60x17 1084 1140+60x60'),
        at: '20m',
      },
      { why: 'it was set right', series: gauge('muster_wall_clock_seconds', '3+60x20 1260+60x60'), at: '32m' },
    ],
  },
  MusterAuthenticationFailing: {
    fires: {
      why: 'forty wrong secrets within 15 minutes',
      series: gauge(
        'muster_authentication_failures_total',
        '0+3x60',
        'instance="a",credential="api_key",reason="wrong_secret"',
      ),
      at: '20m',
    },
    labels: { ...JOB, credential: 'api_key' },
    quiet: [
      {
        why: 'somebody mistyped a few times',
        series: gauge(
          'muster_authentication_failures_total',
          '0 1 2 3x60',
          'instance="a",credential="api_key",reason="wrong_secret"',
        ),
        at: '10m',
      },
      {
        why: 'scanners bring junk',
        series: gauge(
          'muster_authentication_failures_total',
          '0+30x60',
          'instance="a",credential="api_key",reason="malformed"',
        ),
        at: '20m',
      },
      {
        why: 'it ended 20 minutes ago',
        series: gauge(
          'muster_authentication_failures_total',
          '0+3x20 60x60',
          'instance="a",credential="api_key",reason="wrong_secret"',
        ),
        at: '41m',
      },
    ],
  },
  MusterOperatorTokensDiffer: {
    fires: {
      why: 'each of two sees the other, for as long as it takes to look',
      series: {
        ...gauge('muster_replicas_with_other_operator_tokens', '1x30'),
        ...gauge('muster_replicas_with_other_operator_tokens', '1x30', 'instance="b"'),
      },
      at: '15m',
    },
    labels: JOB,
    quiet: [
      {
        why: 'the file of one was replaced some minutes before that of the other',
        series: gauge('muster_replicas_with_other_operator_tokens', '0 1x5 0x30'),
        at: '15m',
      },
    ],
  },
  MusterAuditAttemptsDropped: {
    fires: { why: 'one entry', series: gauge('muster_audit_attempts_dropped_total', '0x10 1x30'), at: '20m' },
    labels: JOB,
    quiet: [{ why: 'none', series: gauge('muster_audit_attempts_dropped_total', '0x60'), at: '20m' }],
  },
  MusterReplicaDown: {
    fires: {
      why: 'it was there, and is not',
      series: { ...gauge('up', '1x10 0x30'), ...gauge('muster_build_info', '1x10 stale') },
      at: '20m',
    },
    alsoFires: [
      {
        why: 'it has not come back for hours',
        series: { ...gauge('up', '1x10 0x300'), ...gauge('muster_build_info', '1x10 stale') },
        at: '240m',
      },
    ],
    labels: REPLICA,
    quiet: [
      {
        why: 'after hours its target was taken out',
        series: { ...gauge('up', '1x10 0x200 stale'), ...gauge('muster_build_info', '1x10 stale') },
        at: '240m',
      },
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
  MusterRejectsRequests: {
    fires: {
      why: 'one a second is above the bound',
      series: gauge('muster_http_rejected_total', '0+60x30', 'listener="api",why="request_bound"'),
      at: '20m',
    },
    labels: API,
    quiet: [
      {
        why: 'what is no HTTP is no load',
        series: gauge('muster_http_rejected_total', '0+60x30', 'listener="api",why="below_routing"'),
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
    fires: { why: 'nearly a second', series: gauge('muster_clock_skew_seconds', '0.99x30'), at: '20m' },
    labels: JOB,
    quiet: [{ why: 'half a second', series: gauge('muster_clock_skew_seconds', '0.5x30'), at: '20m' }],
  },
  MusterCertificateExpiresSoon: {
    fires: {
      why: 'five days from now',
      series: gauge(
        'muster_certificate_expiry_timestamp_seconds',
        `${5 * 86_400}x200`,
        'file="MUSTER_API_TLS_CERT_FILE"',
      ),
      at: '2h',
    },
    labels: CERTIFICATE,
    quiet: [
      {
        why: 'a month from now',
        series: gauge(
          'muster_certificate_expiry_timestamp_seconds',
          `${30 * 86_400}x200`,
          'file="MUSTER_API_TLS_CERT_FILE"',
        ),
        at: '2h',
      },
    ],
  },
  MusterCertificateExpires: {
    fires: {
      why: 'of one of two replicas in some hours',
      series: {
        ...gauge(
          'muster_certificate_expiry_timestamp_seconds',
          '40000x60',
          'instance="a",file="MUSTER_API_TLS_CERT_FILE"',
        ),
        ...gauge(
          'muster_certificate_expiry_timestamp_seconds',
          '4000000x60',
          'instance="b",file="MUSTER_API_TLS_CERT_FILE"',
        ),
      },
      at: '20m',
    },
    labels: CERTIFICATE,
    quiet: [
      {
        why: 'in two days',
        series: gauge('muster_certificate_expiry_timestamp_seconds', '180000x60', 'file="MUSTER_API_TLS_CERT_FILE"'),
        at: '20m',
      },
    ],
  },
};
