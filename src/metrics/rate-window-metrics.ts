import type { RateDecisionMetrics } from '../api/v1/rate-limit.ts';
import { RATE_ALLOTMENTS, type RateWindowMetrics } from '../domain/rate-window/shared/metrics.ts';
import type { ReadGauges } from './callback-gauges.ts';
import type { Section } from './instruments.ts';
import { RATE_DECISIONS } from './labels.ts';

/** The verbs of the account window, and of the window that replicas share. */
export interface RateMetrics extends RateDecisionMetrics, RateWindowMetrics {}

const FILL = [0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1];

export function rateMetrics(section: (title: string) => Section, read: ReadGauges): RateMetrics {
  const windows = section('Rate windows');
  const decided = windows.bufferedCounterOf({
    name: 'muster_rate_decisions_total',
    help: 'Decisions of the account rate window: admitted or limited.',
    labels: { decision: RATE_DECISIONS },
    unit: 'requests',
    since: '0.1.0',
  });
  windows.callbackGauge(
    {
      name: 'muster_rate_limited_accounts',
      help: 'Accounts that were refused with 429 in the last minute.',
      unit: 'accounts',
      since: '0.1.0',
    },
    () => read()?.accountsLimitedLately() ?? 0,
  );
  windows.callbackHistogram(
    {
      name: 'muster_rate_window_fill_ratio',
      help: 'How full the windows are, at the scrape, of the accounts that were seen in the last minute.',
      buckets: FILL,
      unit: 'ratio',
      since: '0.1.0',
    },
    () => read()?.rateFill() ?? [],
  );
  return { rateDecided: (admitted) => decided(admitted ? 'admitted' : 'limited'), ...sharedWindowMetrics(windows) };
}

function sharedWindowMetrics(windows: Section): RateWindowMetrics {
  let age = (): number => 0;
  windows.callbackGauge(
    {
      name: 'muster_rate_shared_age_seconds',
      help: 'Time for which this replica has not received what other replicas write of the rate windows; 0 while it does.',
      unit: 'seconds',
      since: '0.1.0',
    },
    () => age(),
  );
  return {
    rateAllotment: windows.counterOf({
      name: 'muster_rate_allotments_total',
      help: 'Allotments of rate windows that this replica took ahead, settled in time, or settled after their end.',
      labels: { what: RATE_ALLOTMENTS },
      unit: 'allotments',
      since: '0.1.0',
    }),
    rateRecordRepaired: windows.counter({
      name: 'muster_rate_records_repaired_total',
      help: 'Records of rate windows that could not be read, and were written anew as spent whole.',
      unit: 'records',
      since: '0.1.0',
    }),
    rateWaited: windows.counter({
      name: 'muster_rate_waited_total',
      help: 'Requests that waited for the store before they were admitted or limited.',
      unit: 'requests',
      since: '0.1.0',
    }),
    rateSharedAge(read) {
      age = read;
    },
  };
}
