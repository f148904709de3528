import { isFalse, isTrue, type ConditionState } from '../runtime/conditions.ts';
import type { FleetOtelConfigStatus } from '../schema/fleet-otel-config.ts';
import type { FleetOtelConfigFacts } from './fleet-otel-config-facts.ts';

/** Counts move with every acknowledgement: they are written once a minute, and when the revision is another one. */
const DELIVERY_EVERY_MS = 50_000;

type Delivery = NonNullable<FleetOtelConfigStatus['delivery']>;

/** The counts of the devices that have the configuration, and the condition that sums them up. */
export function deliveryOf(
  before: Partial<FleetOtelConfigStatus>,
  { rollout, sinceStatusMs }: Pick<FleetOtelConfigFacts, 'rollout' | 'sinceStatusMs'>,
): { readonly status: Omit<FleetOtelConfigStatus, 'conditions'>; readonly conditions: readonly ConditionState[] } {
  if (!rollout) {
    const message = 'Nothing is delivered as long as the configuration is not in force.';
    return { status: {}, conditions: [{ type: 'Delivered', status: 'Unknown', reason: 'NotInForce', message }] };
  }
  const { revision, devices, applied, failed, pending, stale } = rollout;
  const current = sinceStatusMs >= DELIVERY_EVERY_MS || before.revision !== revision;
  const counted: Delivery = { devices, applied, failed, pending: pending + stale };
  const delivery = current ? counted : (before.delivery ?? counted);
  return { status: { revision, delivery }, conditions: [delivered(delivery)] };
}

function delivered({ devices, applied, failed, pending }: Delivery): ConditionState {
  if (devices === 0) return isTrue('Delivered', 'NoDevices', 'No cloud device is there to receive it.');
  const counts = `${applied} of ${devices} devices applied it, ${failed} failed, ${pending} have not told yet.`;
  if (failed > 0) return isFalse('Delivered', 'Failed', counts);
  return pending > 0 ? isFalse('Delivered', 'InProgress', counts) : isTrue('Delivered', 'AllApplied', counts);
}
