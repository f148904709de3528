import { failedRatio, ranked, type AccountRollout } from '../domain/rollouts/account-rollouts.ts';
import type { RolloutTotals } from '../domain/rollouts/rollout-totals.ts';
import { OPEN } from '../metrics/instruments/label-values.ts';
import type { Sections } from '../metrics/instruments/sections.ts';

/** The states of a device towards the current configuration. */
const ROLLOUT_STATES = ['applied', 'failed', 'pending', 'stale'] as const;
/** The states by which accounts have series of their own. */
const RANKED_STATES = ['failed', 'pending', 'stale'] as const;

export function rolloutMetrics({ delivery }: Sections) {
  const devices = delivery.seriesGauge({
    name: 'muster_rollout_devices',
    help: 'Cloud devices of Enterprise accounts, by what they did with the current configuration; on the leader alone.',
    labels: { state: ROLLOUT_STATES },
    unit: 'devices',
  });
  const failing = delivery.knownGauge({
    name: 'muster_rollout_failing_accounts',
    help: 'Accounts of which half or more of the devices that poll could not apply the configuration, 3 at least; on the leader alone.',
    unit: 'accounts',
  });
  const top = delivery.seriesGauge({
    name: 'muster_rollout_top_devices',
    help: 'Devices of the 20 accounts that have the most of them in a state; on the leader alone.',
    labels: { account: OPEN, state: RANKED_STATES },
    unit: 'devices',
  });
  const topRatio = delivery.accountsGauge({
    name: 'muster_rollout_top_failed_ratio',
    help: 'Share of failed devices among those that poll, of the 20 largest failing accounts; on the leader alone.',
    unit: 'ratio',
  });
  return {
    /**
     * @param counted devices and accounts; undefined on a replica that counts them no longer
     * @param named the accounts that may have series of their own
     */
    rolloutCounted(
      counted: Pick<RolloutTotals, 'devices' | 'failing'> | undefined,
      named: readonly AccountRollout[],
    ): void {
      devices(counted ? ROLLOUT_STATES.map((state) => [{ state }, counted.devices[state]] as const) : []);
      failing(counted?.failing);
      top(
        RANKED_STATES.flatMap((state) =>
          ranked(named, state).map((one) => [{ account: one.accountId, state }, one[state]] as const),
        ),
      );
      topRatio(ranked(named, 'failing').map((one) => [one.accountId, failedRatio(one)]));
    },
  };
}
export type RolloutMetrics = ReturnType<typeof rolloutMetrics>;
