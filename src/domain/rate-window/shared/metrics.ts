import type { Sections } from '../../../metrics/instruments/sections.ts';

/* The metrics of the shared rate window: the verbs that it calls, and the closed sets of their labels. */

/** An allotment is taken ahead; it is settled while its window lasts (`returned`), or after its end (`expired`). */
const RATE_ALLOTMENTS = ['taken', 'returned', 'expired'] as const;

export const rateWindowMetrics = ({ rates }: Sections) => ({
  /** Seconds for which the watch of the windows has brought nothing; 0 while it works. */
  rateSharedAge: rates.callbackGauge({
    name: 'muster_rate_shared_age_seconds',
    help: 'Time for which this replica has not received what other replicas write of the rate windows; 0 while it does.',
    unit: 'seconds',
  }),
  rateAllotment: rates.counterOf({
    name: 'muster_rate_allotments_total',
    help: 'Allotments of rate windows that this replica took ahead, settled in time, or settled after their end.',
    labels: { what: RATE_ALLOTMENTS },
    unit: 'allotments',
  }),
  rateRecordRepaired: rates.counter({
    name: 'muster_rate_records_repaired_total',
    help: 'Records of rate windows that could not be read, and were written anew as spent whole.',
    unit: 'records',
  }),
  rateWaited: rates.counter({
    name: 'muster_rate_waited_total',
    help: 'Requests that waited for the store before they were admitted or limited.',
    unit: 'requests',
  }),
});
export type RateWindowMetrics = ReturnType<typeof rateWindowMetrics>;
