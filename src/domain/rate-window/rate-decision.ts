/** The account's window after a request was charged, or refused. */
export interface RateDecision {
  readonly admitted: boolean;
  /** Requests left at this moment. */
  readonly left: number;
  /** Seconds until the next unit is free, at least 1. */
  readonly freesInSeconds: number;
}
