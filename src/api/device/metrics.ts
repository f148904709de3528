/* The metrics of the device plane's requests: the verbs that it calls, and the closed sets of their labels. */

/** How a poll of the configuration ends. */
export const POLL_RESULTS = [
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

/** The verbs by which the device plane counts polls. */
export interface PollMetrics {
  pollEnded(result: PollResult): void;
  /** A daemon is told a revision for the first time. @param seconds since the revision was stored */
  revisionReceived(seconds: number): void;
}
