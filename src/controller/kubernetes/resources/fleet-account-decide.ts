import type { AccountRecord } from '../../../domain/records/account-records.ts';
import { isOfferedTo, notOffered, wasAccountOf, type Owner } from '../../../domain/resource-bindings/adoption.ts';
import type { Binding } from '../../../domain/resource-bindings/bindings.ts';
import { isFalse, isTrue, type ConditionState } from '../runtime/conditions.ts';
import { CLEAN, type Answer, type Decision, type Instant, type Settled } from '../runtime/kind.ts';
import { displayNameOf, type Resource } from '../runtime/resource.ts';
import type { FleetAccountSpec, FleetAccountStatus } from '../schema/fleet-account.ts';
import { usersInWords, type AccountUsers } from './account-ref.ts';

export type FleetAccountResource = Resource<FleetAccountSpec, FleetAccountStatus>;

export interface FleetAccountFacts {
  readonly binding: Binding | undefined;
  /** The account of the binding; without a binding the one that is to be adopted. */
  readonly account: AccountRecord | undefined;
  /** The resource, with the UID of its namespace where that matters and can be read. */
  readonly owner: Owner;
  /** The account of the resource that this one replaces; undefined where there is none, or a binding. */
  readonly former: string | undefined;
  /** The resources that use the account, while this one is being deleted. */
  readonly users: AccountUsers;
  readonly apps: NonNullable<FleetAccountStatus['apps']>;
  /** Milliseconds since this operator last wrote the status; Infinity where it has not. */
  readonly sinceStatusMs: number;
  /** The instant, in milliseconds since 1970. */
  readonly at: number;
}

export type FleetAccountStep =
  | { readonly do: 'create' }
  | { readonly do: 'adopt'; readonly accountId: string }
  /** Follows the account of a resource of this name that was deleted. */
  | { readonly do: 'takeUp'; readonly accountId: string }
  | { readonly do: 'change'; readonly disabled: boolean }
  /** Writes down that the generation is carried out. */
  | { readonly do: 'note' }
  | { readonly do: 'release' }
  | { readonly do: 'forget' };

const COUNTS_EVERY_MS = 60_000;
/** The users of an account that go one by one are told at most so often. */
const USERS_EVERY_MS = 10_000;

/**
 * Decides the next step for a FleetAccount, or its status. Changes made outside are undone, but never a loss of access.
 */
export function decideFleetAccount(
  resource: FleetAccountResource,
  facts: FleetAccountFacts,
  { refused }: Pick<Instant, 'refused'>,
): Decision<FleetAccountStep, FleetAccountStatus> {
  const { binding, account } = facts;
  if (resource.deleting) return cleanUp(resource, facts, refused.length > 0);
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
  resource: FleetAccountResource,
  facts: FleetAccountFacts,
  refused: boolean,
): Decision<FleetAccountStep, FleetAccountStatus> {
  const { binding, account, users } = facts;
  if (!binding) return CLEAN;
  const own = account?.managedBy?.uid === resource.uid;
  if (own && users.length > 0) {
    // An account that is to be cut off does not wait for its users: they may be those from whom access is taken.
    const cutsOff = resource.spec.disabled || resource.spec.deletionPolicy === 'Disable';
    if (cutsOff && !account.disabled && !refused) return { step: { do: 'change', disabled: true } };
    return hold(resource, facts);
  }
  return { step: { do: account && !refused ? 'release' : 'forget' } };
}

/** An account that is in use is not released: its apps, keys and configurations go first. */
function hold(
  resource: FleetAccountResource,
  facts: FleetAccountFacts,
): Decision<FleetAccountStep, FleetAccountStatus> {
  const told = resource.conditions.find(({ type, reason }) => type === 'Ready' && reason === 'InUse');
  const message = `The account is in use: ${usersInWords(facts.users)}. The deletion goes on when they are gone.`;
  const waits = told !== undefined && facts.sinceStatusMs < USERS_EVERY_MS;
  const { settled: held } = settledAccount(resource, facts, isFalse('Ready', 'InUse', waits ? told.message : message));
  const requeueAfterMs = waits ? USERS_EVERY_MS - facts.sinceStatusMs : COUNTS_EVERY_MS;
  return { settled: { ...held, requeueAfterMs, held: true } };
}

function begin(
  resource: FleetAccountResource,
  facts: FleetAccountFacts,
): Decision<FleetAccountStep, FleetAccountStatus> {
  const { adoptAccountId } = resource.spec;
  const { account, owner, former } = facts;
  if (adoptAccountId === undefined) {
    return { step: former === undefined ? { do: 'create' } : { do: 'takeUp', accountId: former } };
  }
  if (account && isOfferedTo(account, owner, facts.at)) return { step: { do: 'adopt', accountId: adoptAccountId } };
  // The manifest of an adoption stays as it is, while the consent is used up.
  if (account && wasAccountOf(account, owner)) return { step: { do: 'takeUp', accountId: adoptAccountId } };
  const message = notOffered(`the account ${adoptAccountId}`, owner);
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
  const same = account.name === displayNameOf(resource) && account.entitlement === spec.entitlement;
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

/** The cause of a change of the account: one that takes access away does not wait. */
export function causeOfAccountStep(
  step: FleetAccountStep,
  { generation }: FleetAccountResource,
  { binding, account }: FleetAccountFacts,
): Answer | undefined {
  if (step.do !== 'change' || (step.disabled && account?.disabled === false)) return undefined;
  return { cause: binding?.record.generation === generation ? 'outside' : 'spec' };
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
