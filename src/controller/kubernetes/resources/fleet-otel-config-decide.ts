import { endpointFault } from '../../../domain/otel-config/collector-endpoint.ts';
import type { BindingRecord } from '../../../domain/resource-bindings/bindings.ts';
import { isFalse, isTrue, type Finding } from '../runtime/conditions.ts';
import { CLEAN, type Decision, type Instant } from '../runtime/kind.ts';
import type { FleetOtelConfigStatus } from '../schema/fleet-otel-config.ts';
import { ACCOUNT_AGAIN_MS, accountTrouble } from './account-ref.ts';
import { deliveryOf } from './fleet-otel-config-delivery.ts';
import type { FleetOtelConfigFacts, FleetOtelConfigResource } from './fleet-otel-config-facts.ts';

export type FleetOtelConfigStep =
  | { readonly do: 'store' }
  | { readonly do: 'purge' }
  | { readonly do: 'note'; readonly after: BindingRecord | undefined };

type OtelDecision = Decision<FleetOtelConfigStep, FleetOtelConfigStatus>;

/** A Secret whose watch is silent is followed within a minute all the same. */
const AGAIN_MS = 55_000;

/** What to do about a FleetOtelConfig. */
export function decideFleetOtelConfig(
  resource: FleetOtelConfigResource,
  facts: FleetOtelConfigFacts,
  { refused }: Pick<Instant, 'refused'>,
): OtelDecision {
  const { binding, account } = facts;
  const { spec } = resource;
  if (resource.deleting) return leave(resource, facts, refused.length > 0);
  // Of another resource by now: it is not this one's to purge any more.
  if (binding && facts.first !== resource.name) return { step: { do: 'note', after: undefined } };
  if (account.is !== 'ready') return told(resource, facts, [accountTrouble(account.is, spec.accountRef.name)]);
  const fault = acceptance(resource, facts);
  if (fault) return told(resource, facts, [isFalse('Ready', fault.reason, fault.message), fault]);
  const accepted = isTrue('Accepted', 'Accepted', 'The spec can be carried out.');
  const entitled = account.account.record.entitlement === 'enterprise';
  if (!entitled || refused.some(({ code }) => code === 'enterprise_required')) {
    const message = 'The account is not Enterprise; nothing is delivered.';
    const findings = [isFalse('Ready', 'EnterpriseRequired', message), accepted];
    return told(resource, facts, [...findings, isFalse('Entitled', 'EnterpriseRequired', message)]);
  }
  const good = [accepted, isTrue('Entitled', 'Enterprise', 'The account is Enterprise.')];
  const unsynced = (reason: string, message: string): OtelDecision =>
    told(resource, facts, [isFalse('Ready', reason, message), ...good, isFalse('Synced', reason, message)]);
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
  return told(resource, facts, [isTrue('Ready', 'Synced', synced), ...good, isTrue('Synced', 'Synced', synced)]);
}

export const bindingOf = (
  { kind, namespace, name, generation }: FleetOtelConfigResource,
  accountId: string,
): BindingRecord => ({ kind, namespace, name, accountId, generation });

/** Only what this resource stored is its to purge: one that was never accepted has no binding. */
function leave(
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
): Finding | undefined {
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

/** Less is exported than this spec wishes, and not by it. */
const isCutOff = ({ spec }: FleetOtelConfigResource, { stored }: FleetOtelConfigFacts): boolean =>
  !stored || (spec.enabled && !stored.enabled);

/** Ready is the first of the findings, but the last aspect to be told is the delivery. */
function told(
  resource: FleetOtelConfigResource,
  facts: FleetOtelConfigFacts,
  findings: readonly Finding[],
): OtelDecision {
  const { status, findings: delivered } = deliveryOf(resource.status, facts);
  const known = new Set(findings.map(({ type }) => type));
  const unknown = ['Accepted', 'Entitled', 'Synced']
    .filter((type) => !known.has(type))
    .map((type): Finding => ({
      type,
      status: 'Unknown',
      reason: 'Unknown',
      message: 'Ready tells what is in the way.',
    }));
  return {
    settled: {
      status,
      findings: [...findings, ...unknown, ...delivered],
      againMs: facts.account.is === 'ready' ? AGAIN_MS : ACCOUNT_AGAIN_MS,
    },
  };
}
