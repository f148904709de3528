import type { AccountQuotaMetrics } from '../controller/metrics.ts';
import type { GrowingAccount, QuotaState } from '../domain/quota/growth.ts';
import { OPEN, type Section } from './instruments.ts';

/** What accounts store against their quotas, on the leader alone. */
export function quotaMetrics(section: (title: string, note?: string) => Section): AccountQuotaMetrics {
  const quotas = section(
    'Quotas of accounts',
    'The label `account` has the ids of the three accounts that grow fastest. `MUSTER_METRICS_ACCOUNTS=off` removes both series.',
  );
  let state: QuotaState | undefined;
  quotas.callbackGauge(
    {
      name: 'muster_accounts_near_quota',
      help: 'Accounts that store 80 % of their quota or more; on the leader alone.',
      unit: 'accounts',
      since: '0.1.0',
    },
    () => state?.near ?? 0,
  );
  quotas.callbackGauge(
    {
      name: 'muster_accounts_at_quota',
      help: 'Accounts that have used up their quota: what grows is refused with 502; on the leader alone.',
      unit: 'accounts',
      since: '0.1.0',
    },
    () => state?.atQuota ?? 0,
  );
  const top = (name: string, help: string, unit: string, valueOf: (account: GrowingAccount) => number): void =>
    quotas.labelledCallbackGauge({ name, help, labels: { account: OPEN }, unit, since: '0.1.0' }, () =>
      (state?.growing ?? []).map((account) => [{ account: account.accountId }, valueOf(account)] as const),
    );
  top(
    'muster_account_growth_top_bytes_per_second',
    'Growth of what the fastest accounts store, over the last hours; on the leader alone.',
    'bytes',
    ({ bytesPerSecond }) => bytesPerSecond,
  );
  top(
    'muster_account_growth_top_quota_left_seconds',
    'Time until these accounts have used up their quotas at that growth, infinite without a quota; on the leader alone.',
    'seconds',
    ({ secondsToQuota = Number.POSITIVE_INFINITY }) => secondsToQuota,
  );
  return {
    quotasCounted(counted) {
      state = counted;
    },
  };
}
