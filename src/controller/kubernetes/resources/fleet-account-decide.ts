import type { AccountRecord } from '../../../domain/records/records.ts';
import type { Binding } from '../../../domain/resource-bindings/bindings.ts';
import { isFalse, isTrue, type ConditionState } from '../runtime/conditions.ts';
import { CLEAN, type Decision, type Instant, type Settled } from '../runtime/kind.ts';
import type { Resource } from '../runtime/resource.ts';
import type { FleetAccountSpec, FleetAccountStatus } from '../schema/fleet-account.ts';

export type FleetAccountResource = Resource<FleetAccountSpec, FleetAccountStatus>;

export interface FleetAccountFacts {
  readonly binding: Binding | undefined;
  /** The account of the binding; without a binding the one that is to be adopted. */
  readonly account: AccountRecord | undefined;
  readonly apps: NonNullable<FleetAccountStatus['apps']>;
  /** Milliseconds since this operator last wrote the status; Infinity where it has not. */
  readonly sinceStatusMs: number;
}

export type FleetAccountStep =
  | { readonly do: 'create' }
  | { readonly do: 'adopt'; readonly accountId: string }
  | { readonly do: 'change'; readonly disabled: boolean }
  /** Writes down that the generation is carried out. */
  | { readonly do: 'note' }
  | { readonly do: 'release' }
  | { readonly do: 'forget' };

const COUNTS_EVERY_MS = 60_000;

export const accountNameOf = ({ spec, name }: FleetAccountResource): string => spec.displayName ?? name;

/**
 * Decides the next step for a FleetAccount, or its status. Changes made outside are undone, but never a loss of access.
 */
export function decideFleetAccount(
  resource: FleetAccountResource,
  facts: FleetAccountFacts,
  { refused }: Pick<Instant, 'refused'>,
): Decision<FleetAccountStep, FleetAccountStatus> {
  const { binding, account } = facts;
  if (resource.deleting) return cleanUp(facts, refused.length > 0);
  if (!binding) return begin(resource, facts);
  if (!account) {
    return settledAccount(
      resource,
      facts,
      isFalse('Ready', 'AccountMissing', 'The store has no such account any more.'),
    );
  }
  if (account.managedBy?.uid !== resource.uid) {
    const message = 'An operator has given the account to another FleetAccount.';
    return settledAccount(resource, facts, isFalse('Ready', 'ManagedByAnother', message));
  }
  return follow(resource, binding, account, facts);
}

function cleanUp(
  { binding, account }: FleetAccountFacts,
  refused: boolean,
): Decision<FleetAccountStep, FleetAccountStatus> {
  if (!binding) return CLEAN;
  return { step: { do: account && !refused ? 'release' : 'forget' } };
}

function begin(
  resource: FleetAccountResource,
  facts: FleetAccountFacts,
): Decision<FleetAccountStep, FleetAccountStatus> {
  const { adoptAccountId } = resource.spec;
  if (adoptAccountId === undefined) return { step: { do: 'create' } };
  const own = `${resource.namespace}/${resource.name}`;
  if (facts.account?.adoptableBy === own) return { step: { do: 'adopt', accountId: adoptAccountId } };
  // The message is the same whether or not there is such an account: a writer of resources must not find that out.
  const message = `An operator must set adoptableBy of the account ${adoptAccountId} to ${own}.`;
  return settledAccount(resource, facts, isFalse('Ready', 'NotAdoptable', message));
}

function follow(
  resource: FleetAccountResource,
  binding: Binding,
  account: AccountRecord,
  facts: FleetAccountFacts,
): Decision<FleetAccountStep, FleetAccountStatus> {
  const { spec } = resource;
  const fresh = binding.record.generation !== resource.generation;
  // The account has less access than the spec wishes, and not by this generation: somebody disabled it, and no loop
  // undoes that.
  const cutOff = account.disabled && !spec.disabled && !fresh;
  const disabled = cutOff || spec.disabled;
  const same = account.name === accountNameOf(resource) && account.entitlement === spec.entitlement;
  if (!same || account.disabled !== disabled) return { step: { do: 'change', disabled } };
  if (fresh) return { step: { do: 'note' } };
  return settledAccount(resource, facts, readiness(cutOff, account));
}

function readiness(cutOff: boolean, account: AccountRecord): ConditionState {
  if (cutOff) {
    const message = 'The account was disabled outside of Kubernetes. Change the spec to enable it again.';
    return isFalse('Ready', 'ChangedOutside', message);
  }
  return account.disabled
    ? isTrue('Ready', 'Disabled', 'The account is disabled, as the spec says.')
    : isTrue('Ready', 'Synced', 'The account is as the spec says.');
}

/** The status of a FleetAccount for which no step is left, or of which one failed. */
export function settledAccount(
  resource: FleetAccountResource,
  { binding, apps, sinceStatusMs }: FleetAccountFacts,
  ready: ConditionState,
): Settled<FleetAccountStatus> {
  const counts = sinceStatusMs >= COUNTS_EVERY_MS ? apps : resource.status.apps;
  return {
    settled: {
      status: { ...(binding && { accountId: binding.record.accountId, apps: counts ?? apps }) },
      conditions: [ready],
      requeueAfterMs: COUNTS_EVERY_MS,
    },
  };
}
