import { endpointFault } from '../../../domain/otel-config/collector-endpoint.ts';
import type { BindingRecord } from '../../../domain/records/binding-records.ts';
import { isFalse, isTrue, type ConditionState } from '../runtime/conditions.ts';
import type { EvidenceLevel } from '../../../domain/review-queue/evidence.ts';
import { CLEAN, type Answer, type Decision, type Instant, type Settled } from '../runtime/kind.ts';
import type { FleetOtelConfigStatus } from '../schema/fleet-otel-config.ts';
import { ACCOUNT_REQUEUE_MS, accountTrouble, rebinds } from './account-ref.ts';
import { deliveryOf } from './fleet-otel-config-delivery.ts';
import type { FleetOtelConfigFacts, FleetOtelConfigResource } from './fleet-otel-config-facts.ts';

export type FleetOtelConfigStep =
  | { readonly do: 'store' }
  | { readonly do: 'disable' }
  | { readonly do: 'lower' }
  | { readonly do: 'purge' }
  | { readonly do: 'note'; readonly after: BindingRecord | undefined };

type OtelDecision = Decision<FleetOtelConfigStep, FleetOtelConfigStatus>;

/** A header's Secret whose watch is silent is read again within a minute all the same. */
const REQUEUE_MS = 55_000;

/**
 * Decides the next step for a FleetOtelConfig, or its status. A configuration that was switched off outside stays off.
 */
export function decideFleetOtelConfig(
  resource: FleetOtelConfigResource,
  facts: FleetOtelConfigFacts,
  { refused }: Pick<Instant, 'refused'>,
): OtelDecision {
  const { binding, account } = facts;
  const { spec } = resource;
  if (resource.deleting || rebinds(resource, account)) return cleanUp(resource, facts, refused.length > 0);
  // The configuration belongs to another resource by now: this one may not purge it any more.
  if (binding && facts.first !== resource.name) return { step: { do: 'note', after: undefined } };
  if (account.is !== 'ready') return settledOtel(resource, facts, [accountTrouble(account, spec.accountRef.name)]);
  const fault = acceptance(resource, facts);
  const lessens = fault && refused.length === 0 ? lessening(resource, facts) : undefined;
  if (lessens) return { step: lessens };
  if (fault) return settledOtel(resource, facts, [isFalse('Ready', fault.reason, fault.message), fault]);
  const accepted = isTrue('Accepted', 'Accepted', 'The spec can be carried out.');
  const entitled = account.account.record.entitlement === 'enterprise';
  if (!entitled || refused.some(({ code }) => code === 'enterprise_required')) {
    const message = 'The account is not Enterprise; nothing is delivered.';
    const conditions = [isFalse('Ready', 'EnterpriseRequired', message), accepted];
    return settledOtel(resource, facts, [...conditions, isFalse('Entitled', 'EnterpriseRequired', message)]);
  }
  const good = [accepted, isTrue('Entitled', 'Enterprise', 'The account is Enterprise.')];
  const unsynced = (reason: string, message: string): OtelDecision =>
    settledOtel(resource, facts, [isFalse('Ready', reason, message), ...good, isFalse('Synced', reason, message)]);
  const [refusal] = refused;
  if (refusal) return unsynced('Refused', refusal.says ?? `The step ${refusal.do} was refused: ${refusal.code}.`);
  const fresh = binding?.record.generation !== resource.generation;
  if (!fresh && isCutOff(resource, facts)) {
    const message = 'The configuration was switched off or purged outside of Kubernetes. Change the spec to store it.';
    return unsynced('ChangedOutside', message);
  }
  if (!facts.inSync) return { step: { do: 'store' } };
  if (fresh) return { step: { do: 'note', after: bindingOf(resource, account.account.id) } };
  const synced = 'The account has the configuration that the spec describes.';
  return settledOtel(resource, facts, [isTrue('Ready', 'Synced', synced), ...good, isTrue('Synced', 'Synced', synced)]);
}

/** The cause of a further revision; the first one of a resource has none. */
export function causeOfOtelStep(
  step: FleetOtelConfigStep,
  { generation, spec }: FleetOtelConfigResource,
  { binding, isHeaderAlone }: FleetOtelConfigFacts,
): Answer | undefined {
  if (step.do === 'note' || step.do === 'purge' || !binding) return undefined;
  // A lower level leaves the generation as it was: only the first one is of the spec, and the rate lets that pass.
  if (step.do === 'lower') return { cause: 'outside' };
  if (binding.record.generation !== generation) return { cause: 'spec' };
  return isHeaderAlone ? { cause: 'header', secret: spec.authHeaderSecretRef?.name } : { cause: 'outside' };
}

export const bindingOf = (
  { kind, namespace, name, generation }: FleetOtelConfigResource,
  accountId: string,
): BindingRecord => ({ kind, namespace, name, accountId, generation });

/** A resource purges only what it stored: one that was never accepted has no binding. */
function cleanUp(
  { name }: FleetOtelConfigResource,
  { binding, stored, first, ours }: FleetOtelConfigFacts,
  refused: boolean,
): OtelDecision {
  if (!binding) return CLEAN;
  const purges = stored && ours && first === name && !refused;
  return { step: purges ? { do: 'purge' } : { do: 'note', after: undefined } };
}

function acceptance(
  { name, spec }: FleetOtelConfigResource,
  { first, header }: FleetOtelConfigFacts,
): ConditionState | undefined {
  if (first !== name) {
    return isFalse(
      'Accepted',
      'Conflict',
      `The FleetOtelConfig ${first} describes the account's configuration already.`,
    );
  }
  const fault = spec.endpoint === '' ? undefined : endpointFault(spec.endpoint);
  if (fault !== undefined) return isFalse('Accepted', 'InvalidEndpoint', fault);
  if (spec.enabled && spec.endpoint === '') {
    return isFalse('Accepted', 'InvalidEndpoint', 'endpoint is required when enabled is true.');
  }
  return typeof header === 'object' && 'reason' in header
    ? isFalse('Accepted', header.reason, header.message)
    : undefined;
}

/** From the least that is exported to the most. */
const LEVELS: readonly EvidenceLevel[] = ['hashes', 'redacted', 'full'];

/**
 * The step towards less: the end of an export that goes on, or a lower level, which cuts the evidence of detections
 * also while nothing is exported. It waits for nothing else that is wrong with the spec.
 */
function lessening(
  { name, spec }: FleetOtelConfigResource,
  { first, stored }: FleetOtelConfigFacts,
): FleetOtelConfigStep | undefined {
  if (first !== name || !stored) return undefined;
  if (!spec.enabled && stored.enabled) return { do: 'disable' };
  return LEVELS.indexOf(spec.evidenceLevel) < LEVELS.indexOf(stored.evidenceLevel) ? { do: 'lower' } : undefined;
}

/** Whether less is exported than this spec wishes, by a change from outside. */
const isCutOff = ({ spec }: FleetOtelConfigResource, { stored }: FleetOtelConfigFacts): boolean =>
  !stored || (spec.enabled && !stored.enabled);

/**
 * The status with the given conditions, `Unknown` for those that are not named, and that of the delivery at the end.
 */
export function settledOtel(
  resource: FleetOtelConfigResource,
  facts: FleetOtelConfigFacts,
  conditions: readonly ConditionState[],
): Settled<FleetOtelConfigStatus> {
  const { status, conditions: delivered } = deliveryOf(resource.status, facts);
  const known = new Set(conditions.map(({ type }) => type));
  const unknown = ['Accepted', 'Entitled', 'Synced']
    .filter((type) => !known.has(type))
    .map((type): ConditionState => ({
      type,
      status: 'Unknown',
      reason: 'Unknown',
      message: 'Ready tells what is in the way.',
    }));
  return {
    settled: {
      status,
      conditions: [...conditions, ...unknown, ...delivered],
      requeueAfterMs: facts.account.is === 'ready' ? REQUEUE_MS : ACCOUNT_REQUEUE_MS,
    },
  };
}
