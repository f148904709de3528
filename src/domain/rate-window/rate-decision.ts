/** The account's window at one moment. */
export interface RateLeft {
  /** Requests left at this moment. */
  readonly left: number;
  /** Seconds until the next unit is free, at least 1. */
  readonly freesInSeconds: number;
}

/** The account's window after a request was charged, or refused. */
export interface RateDecision extends RateLeft {
  readonly admitted: boolean;
}
