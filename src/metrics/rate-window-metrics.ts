import { RATE_RESULTS, type RateDecisionMetrics } from '../api/v1/rate-limit.ts';
import type { CountedRateLimits, RateLimitMetrics } from '../controller/metrics.ts';
import { RATE_ALLOTMENTS, type RateWindowMetrics } from '../domain/rate-window/shared/metrics.ts';
import { OPEN, SECONDS, type Section } from './instruments.ts';

/** The verbs of the account window, of the window that replicas share, and of who is limited. */
export interface RateMetrics extends RateDecisionMetrics, RateWindowMetrics, RateLimitMetrics {}

const FILL = [0.25, 0.5, 0.75, 0.9, 0.99, 1];

export function rateMetrics(section: (title: string, note?: string) => Section): RateMetrics {
  const windows = section(
    'Rate windows',
    'The label `account` is the one exception from closed sets: the ids, never the names, of at most 20 accounts. `MUSTER_METRICS_ACCOUNTS=off` removes both series.',
  );
  const decided = windows.bufferedCounterOf({
    name: 'muster_rate_decisions_total',
    help: 'Decisions of the account rate window: admitted, limited (429), or unavailable (502).',
    labels: { decision: RATE_RESULTS },
    unit: 'requests',
  });
  const durations = windows.bufferedHistogram({
    name: 'muster_rate_decision_duration_seconds',
    help: 'Duration of the decisions of the account rate window, by result.',
    labels: { result: RATE_RESULTS },
    buckets: SECONDS,
    unit: 'seconds',
  });
  return {
    rateDecided(result, seconds) {
      decided(result);
      durations.of(result).observe(seconds);
    },
    ...limitedAccountMetrics(windows),
    ...sharedWindowMetrics(windows),
  };
}

function limitedAccountMetrics(windows: Section): RateLimitMetrics {
  let counted: CountedRateLimits | undefined;
  windows.callbackGauge(
    {
      name: 'muster_rate_limited_accounts',
      help: 'Accounts that any replica refused with 429 in the last minute; on the leader alone.',
      unit: 'accounts',
    },
    () => counted?.limited ?? 0,
  );
  windows.callbackHistogram(
    {
      name: 'muster_rate_window_fill_ratio',
      help: 'How full the windows are of the accounts that used a quarter of their requests or more; on the leader alone.',
      buckets: FILL,
      unit: 'ratio',
    },
    () => counted?.fills ?? [],
  );
  const top = (
    name: string,
    help: string,
    unit: string,
    valueOf: (account: CountedRateLimits['top'][number]) => number,
  ): void =>
    windows.labelledCallbackGauge({ name, help, labels: { account: OPEN }, unit }, () =>
      (counted?.top ?? []).map((account) => [{ account: account.accountId }, valueOf(account)] as const),
    );
  top(
    'muster_rate_limit_top_fill_ratio',
    'How full the windows of the fullest accounts are, below a quarter 0; kept for 5 minutes; on the leader alone.',
    'ratio',
    ({ fill }) => fill,
  );
  top(
    'muster_rate_limit_top_refused',
    'Requests of these accounts that any replica refused in the last minute; on the leader alone.',
    'requests',
    ({ refused }) => refused,
  );
  return {
    rateLimitsCounted(limits) {
      counted = limits;
    },
  };
}

function sharedWindowMetrics(windows: Section): RateWindowMetrics {
  let age = (): number => 0;
  windows.callbackGauge(
    {
      name: 'muster_rate_shared_age_seconds',
      help: 'Time for which this replica has not received what other replicas write of the rate windows; 0 while it does.',
      unit: 'seconds',
    },
    () => age(),
  );
  return {
    rateAllotment: windows.counterOf({
      name: 'muster_rate_allotments_total',
      help: 'Allotments of rate windows that this replica took ahead, settled in time, or settled after their end.',
      labels: { what: RATE_ALLOTMENTS },
      unit: 'allotments',
    }),
    rateRecordRepaired: windows.counter({
      name: 'muster_rate_records_repaired_total',
      help: 'Records of rate windows that could not be read, and were written anew as spent whole.',
      unit: 'records',
    }),
    rateWaited: windows.counter({
      name: 'muster_rate_waited_total',
      help: 'Requests that waited for the store before they were admitted or limited.',
      unit: 'requests',
    }),
    rateSharedAge(read) {
      age = read;
    },
  };
}
