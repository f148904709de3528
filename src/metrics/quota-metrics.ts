import type { AccountQuotaMetrics } from '../controller/metrics.ts';
import type { QuotaState } from '../domain/quota/growth.ts';
import { OPEN, type Section } from './instruments.ts';

/** What accounts store against their quotas, on the leader alone. */
export function quotaMetrics(section: (title: string, note?: string) => Section): AccountQuotaMetrics {
  const quotas = section(
    'Quotas of accounts',
    'The label `account` has the ids of the three accounts that grow fastest, and of the three whose quotas end first. `MUSTER_METRICS_ACCOUNTS=off` removes both series.',
  );
  let state: QuotaState | undefined;
  quotas.callbackGauge(
    {
      name: 'muster_accounts_near_quota',
      help: 'Accounts that store 80 % of their quota or more; on the leader alone.',
      unit: 'accounts',
    },
    () => state?.near ?? 0,
  );
  quotas.callbackGauge(
    {
      name: 'muster_accounts_at_quota',
      help: 'Accounts that have used up their quota: what grows is refused with 502; on the leader alone.',
      unit: 'accounts',
    },
    () => state?.atQuota ?? 0,
  );
  quotas.labelledCallbackGauge(
    {
      name: 'muster_account_growth_top_bytes_per_second',
      help: 'Growth of what the fastest accounts store, over the last hours; on the leader alone.',
      labels: { account: OPEN },
      unit: 'bytes',
    },
    () => (state?.growing ?? []).map(({ accountId, bytesPerSecond }) => [{ account: accountId }, bytesPerSecond]),
  );
  quotas.labelledCallbackGauge(
    {
      name: 'muster_account_quota_left_seconds',
      help: 'Time until the quotas that end first are used up, at the growth of the last hours; on the leader alone.',
      labels: { account: OPEN },
      unit: 'seconds',
    },
    () => (state?.ending ?? []).map(({ accountId, secondsToQuota }) => [{ account: accountId }, secondsToQuota]),
  );
  return {
    quotasCounted(counted) {
      state = counted;
    },
  };
}
