import type { FleetApiKeyResource } from '../../../src/controller/kubernetes/resources/fleet-api-key-facts.ts';
import type { ConditionState } from '../../../src/controller/kubernetes/runtime/conditions.ts';
import type { Decision } from '../../../src/controller/kubernetes/runtime/kind.ts';
import type { Resource } from '../../../src/controller/kubernetes/runtime/resource.ts';
import type { KindName } from '../../../src/controller/kubernetes/schema/common.ts';

/** A custom resource of generation 1, as a decision sees it. */
export function asResource<Spec, Status>(
  kind: KindName,
  spec: Spec,
  more: Partial<Resource<Spec, Status>>,
): Resource<Spec, Status> {
  const { name = 'one', namespace = 'team', uid = 'uid-1' } = more;
  const metadata = { name, namespace, uid, resourceVersion: '1', generation: 1, finalizers: [] };
  const made = { kind, name, namespace, uid, generation: 1, deleting: false, spec, status: {}, conditions: [] };
  return { ...made, object: { metadata }, ...more };
}

/** A FleetApiKey of the account acme, with its key in a Secret. */
export const anApiKey = (
  spec: Partial<FleetApiKeyResource['spec']> = {},
  more: Partial<FleetApiKeyResource> = {},
): FleetApiKeyResource =>
  asResource(
    'FleetApiKey',
    { accountRef: { name: 'acme' }, secretRef: { name: 'secret', key: 'apiKey' }, ...spec },
    { name: 'ci', ...more },
  );

/** The step that is to be done; undefined where nothing is left. */
export const stepOf = <Step, Status>(decision: Decision<Step, Status>): Step | undefined =>
  'step' in decision ? decision.step : undefined;

/** The condition `Ready`; undefined where there is a step to be done. */
export const reasonOf = <Step, Status>(decision: Decision<Step, Status>): ConditionState | undefined =>
  'settled' in decision ? decision.settled.conditions.find(({ type }) => type === 'Ready') : undefined;
