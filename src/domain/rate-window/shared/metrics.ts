/* The metrics of the shared rate window: the verbs that it calls, and the closed sets of their labels. */

/** An allotment is taken ahead; it is settled while its window lasts (`returned`), or after its end (`expired`). */
export const RATE_ALLOTMENTS = ['taken', 'returned', 'expired'] as const;
type RateAllotment = (typeof RATE_ALLOTMENTS)[number];

export interface RateWindowMetrics {
  rateAllotment(what: RateAllotment): void;
  /** A record could not be read, and was written anew as a window that was spent whole. */
  rateRecordRepaired(): void;
  /** A request waits for the store until it is admitted or refused. */
  rateWaited(): void;
  /**
   * @param read called at each scrape: seconds for which the watch of the windows has brought nothing; 0 while it works
   */
  rateSharedAge(read: () => number): void;
}
