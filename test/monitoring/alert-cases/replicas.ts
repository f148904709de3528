import { API, gauge, JOB, REPLICA, type AlertCases } from './case.ts';

export const REPLICAS_CASES: AlertCases = {
  MusterReplicaDown: {
    fires: {
      why: 'it was there, and is not',
      series: { ...gauge('up', '1x10 0x30'), ...gauge('muster_build_info', '1x10 stale') },
      at: '20m',
    },
    labels: REPLICA,
    quiet: [
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
      series: gauge('muster_tls_certificate_expiry_timestamp_seconds', `${5 * 86_400}x200`, 'listener="api"'),
      at: '2h',
    },
    labels: API,
    quiet: [
      {
        why: 'a month from now',
        series: gauge('muster_tls_certificate_expiry_timestamp_seconds', `${30 * 86_400}x200`, 'listener="api"'),
        at: '2h',
      },
    ],
  },
  MusterCertificateExpires: {
    fires: {
      why: 'of one of two replicas in some hours',
      series: {
        ...gauge('muster_tls_certificate_expiry_timestamp_seconds', '40000x60', 'instance="a",listener="api"'),
        ...gauge('muster_tls_certificate_expiry_timestamp_seconds', '4000000x60', 'instance="b",listener="api"'),
      },
      at: '20m',
    },
    labels: API,
    quiet: [
      {
        why: 'in two days',
        series: gauge('muster_tls_certificate_expiry_timestamp_seconds', '180000x60', 'listener="api"'),
        at: '20m',
      },
    ],
  },
};
