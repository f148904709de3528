import { receiversOf, stateOf, type RolloutCounts, type RolloutFacts } from './rollout.ts';

/** What one daemon does with the current configuration. */
export interface Delivery {
  readonly appId: string;
  /** `unhealthy` is what an agent of OpAMP says of itself; a failure to apply the configuration goes before it. */
  readonly state: keyof RolloutCounts | 'unhealthy';
  /** What the daemon said of a failure, at most 512 characters. */
  readonly error?: string;
}

/** Every daemon that receives the configuration, and every agent that is unhealthy, in no particular order. */
export function deliveriesOf(facts: RolloutFacts): readonly Delivery[] {
  const states = new Map(receiversOf(facts).map((device) => [device.id, stateOf(device, facts)]));
  return facts.apps.flatMap(({ id: appId, status }): readonly Delivery[] => {
    const state = states.get(appId);
    if (state === 'failed') return [{ appId, state, error: facts.acks.get(appId)?.error ?? '' }];
    const health = status === 'active' ? facts.agents?.get(appId)?.health : undefined;
    if (health?.healthy === false) return [{ appId, state: 'unhealthy', error: health.error ?? '' }];
    return state === undefined ? [] : [{ appId, state }];
  });
}

/** The number of daemons in each of the states of `deliveriesOf`. */
export type DeliveryCounts = Readonly<Record<Delivery['state'], number>>;

export function countsOf(deliveries: readonly Delivery[]): DeliveryCounts {
  const counts = { applied: 0, failed: 0, pending: 0, stale: 0, unhealthy: 0 };
  for (const { state } of deliveries) counts[state] += 1;
  return counts;
}
