import { generateAccountId } from '../../../domain/credentials/random-ids.ts';
import type { AccountReader } from '../../../domain/fleet/reader.ts';
import type { Binding } from '../../../domain/resource-bindings/bindings.ts';
import type { BindingRecord } from '../../../domain/records/binding-records.ts';
import type { Owner } from '../../../domain/resource-bindings/adoption.ts';
import type { Kind, ReconcileContext } from '../runtime/kind.ts';
import { displayNameOf } from '../runtime/resource.ts';
import { fleetAccount } from '../schema/fleet-account.ts';
import { accountUsers } from './account-ref.ts';
import {
  causeOfAccountStep,
  decideFleetAccount,
  settledAccount,
  type FleetAccountFacts,
  type FleetAccountResource,
  type FleetAccountStep,
} from './fleet-account-decide.ts';

/** The kind FleetAccount: an account of the fleet, created or adopted, and kept as the resource says. */
export const fleetAccountKind = {
  schema: fleetAccount,
  gather,
  decide: decideFleetAccount,
  failing: (resource, facts, { ready }) => settledAccount(resource, facts, ready),
  causeOf: causeOfAccountStep,
  act,
} satisfies Kind<typeof fleetAccount.spec, typeof fleetAccount.status, FleetAccountFacts, FleetAccountStep>;

async function gather(resource: FleetAccountResource, context: ReconcileContext): Promise<FleetAccountFacts> {
  const binding = await context.bindings.get(resource.uid);
  const accountId = binding?.record.accountId ?? resource.spec.adoptAccountId;
  const account = accountId === undefined ? undefined : await (await context.fleet.current()).account(accountId);
  if (accountId !== undefined) context.subscribe(accountId);
  const users = resource.deleting ? accountUsers(context, resource.name) : [];
  // It is asked for where the account begins to follow the resource, and where it is released.
  const needsNamespace = resource.deleting ? users.length === 0 : !binding;
  const owner = ownerOf(resource, needsNamespace ? await context.namespaceUid() : undefined);
  return {
    binding,
    account: account?.record,
    owner,
    former: accountId === undefined && !resource.deleting ? await context.boundAccounts.formerOf(owner) : undefined,
    users,
    apps: await countsOf(account),
    sinceStatusMs: context.sinceStatusMs(),
    at: context.clock.now(),
  };
}

async function countsOf(account: AccountReader | undefined): Promise<FleetAccountFacts['apps']> {
  const counts = { total: 0, active: 0, pending: 0, revoked: 0 };
  for (const { record } of (await account?.apps()) ?? []) {
    counts.total += 1;
    counts[record.status] += 1;
  }
  return counts;
}

const ownerOf = ({ uid, namespace, name }: FleetAccountResource, namespaceUid: string | undefined): Owner => ({
  uid,
  namespace,
  name,
  ...(namespaceUid !== undefined && { namespaceUid }),
});

const bindingTo = (accountId: string, { kind, namespace, name, generation }: FleetAccountResource): BindingRecord => ({
  kind,
  namespace,
  name,
  accountId,
  generation,
});

async function act(
  step: FleetAccountStep,
  resource: FleetAccountResource,
  { binding, account, owner }: FleetAccountFacts,
  context: ReconcileContext,
): Promise<void> {
  if (step.do === 'create') return await create(resource, owner, context);
  if (step.do === 'adopt' || step.do === 'takeUp') return await adopt(step, resource, owner, context);
  if (!binding) return;
  const { uid, spec, generation } = resource;
  const { record } = binding;
  switch (step.do) {
    case 'change':
      // `disabled` is not named where it does not change: a disabling that comes in between must stay.
      return await change(step.disabled === account?.disabled ? undefined : step.disabled, resource, binding, context);
    case 'note':
      return await context.bindings.save(uid, binding, { ...record, generation });
    case 'release': {
      const disable = spec.deletionPolicy === 'Disable';
      const precondition = context.bindings.precondition(uid, binding, undefined);
      return await context.boundAccounts.release(context.origin(), record.accountId, owner, disable, precondition);
    }
    case 'forget':
      return await context.bindings.save(uid, binding, undefined);
  }
}

async function create(resource: FleetAccountResource, owner: Owner, context: ReconcileContext): Promise<void> {
  const accountId = generateAccountId(context.random);
  const { entitlement } = resource.spec;
  const account = { name: displayNameOf(resource), entitlement, managedBy: owner };
  const precondition = context.bindings.precondition(resource.uid, undefined, bindingTo(accountId, resource));
  await context.boundAccounts.create(context.origin(), accountId, account, precondition);
  context.event({ type: 'Normal', reason: 'AccountCreated', note: `The account ${accountId} was created.` });
}

async function adopt(
  { do: how, accountId }: { readonly do: 'adopt' | 'takeUp'; readonly accountId: string },
  resource: FleetAccountResource,
  owner: Owner,
  context: ReconcileContext,
): Promise<void> {
  const precondition = context.bindings.precondition(resource.uid, undefined, bindingTo(accountId, resource));
  await context.boundAccounts.adopt(context.origin(), accountId, owner, precondition);
  if (how === 'adopt') {
    return context.event({ type: 'Normal', reason: 'AccountAdopted', note: `The account ${accountId} was adopted.` });
  }
  const note = `The account ${accountId}, which a FleetAccount of this name had before, was taken up again.`;
  context.event({ type: 'Normal', reason: 'AccountTakenUpAgain', note });
}

async function change(
  disabled: boolean | undefined,
  resource: FleetAccountResource,
  binding: Binding,
  context: ReconcileContext,
): Promise<void> {
  const { uid, spec, generation } = resource;
  const { record } = binding;
  const patch = {
    name: displayNameOf(resource),
    entitlement: spec.entitlement,
    ...(disabled !== undefined && { disabled }),
  };
  await context.accounts.change(
    context.origin(),
    record.accountId,
    patch,
    context.bindings.precondition(uid, binding, { ...record, generation }),
  );
  if (record.generation !== generation) return;
  const note = 'The account had been changed outside of Kubernetes; it is as the spec says again.';
  context.event({ type: 'Normal', reason: 'DriftUndone', note });
}
