import type { Sections } from '../../metrics/instruments/sections.ts';

/* The metrics of the device plane's requests: the verbs that it calls, and the closed sets of their labels. */

/** How a poll of the configuration ends. */
const POLL_RESULTS = [
  'content',
  'not_modified',
  'held_content',
  'held_not_modified',
  'invalid_credential',
  'account_disabled',
  'rate_limited',
  'unavailable',
] as const;
export type PollResult = (typeof POLL_RESULTS)[number];

/** The buckets reach from a held poll to a device that was off for a day. */
const LAG_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600, 21_600, 86_400];

/** The verbs by which the device plane counts polls. */
export function pollMetrics({ fleet, delivery }: Sections) {
  const lag = delivery.histogram({
    name: 'muster_rollout_receipt_lag_seconds',
    help: 'Time from a change of the configuration until a daemon that had an older one received it.',
    buckets: LAG_SECONDS,
    unit: 'seconds',
  });
  return {
    pollEnded: fleet.counterOf({
      name: 'muster_polls_total',
      help: 'Polls of the configuration, by result.',
      labels: { result: POLL_RESULTS },
      unit: 'polls',
    }),
    /** A daemon is told a revision for the first time. @param seconds since the revision was stored */
    revisionReceived: (seconds: number): void => lag.observe(seconds),
  };
}
export type PollMetrics = ReturnType<typeof pollMetrics>;
