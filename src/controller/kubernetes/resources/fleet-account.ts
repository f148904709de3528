import { generateAccountId } from '../../../domain/credentials/random-ids.ts';
import type { AccountReader } from '../../../domain/fleet/reader.ts';
import type { Binding, BindingRecord } from '../../../domain/resource-bindings/bindings.ts';
import type { Owner } from '../../../domain/resource-bindings/bound-accounts.ts';
import type { Kind, Look } from '../runtime/kind.ts';
import { fleetAccount } from '../schema/fleet-account.ts';
import {
  accountNameOf,
  decideFleetAccount,
  type FleetAccountFacts,
  type FleetAccountResource,
  type FleetAccountStep,
} from './fleet-account-decide.ts';

/** An account of the fleet, made or adopted, and kept as the resource says. */
export const fleetAccountKind = {
  schema: fleetAccount,
  gather,
  decide: decideFleetAccount,
  act,
} satisfies Kind<typeof fleetAccount.spec, typeof fleetAccount.status, FleetAccountFacts, FleetAccountStep>;

async function gather(resource: FleetAccountResource, look: Look): Promise<FleetAccountFacts> {
  const binding = await look.bindings.get(resource.uid);
  const accountId = binding?.record.accountId ?? resource.spec.adoptAccountId;
  const account = accountId === undefined ? undefined : await (await look.fleet.current()).account(accountId);
  if (binding) look.follow(binding.record.accountId);
  return { binding, account: account?.record, apps: await countsOf(account), sinceStatusMs: look.sinceStatusMs() };
}

async function countsOf(account: AccountReader | undefined): Promise<FleetAccountFacts['apps']> {
  const counts = { total: 0, active: 0, pending: 0, revoked: 0 };
  for (const { record } of (await account?.apps()) ?? []) {
    counts.total += 1;
    counts[record.status] += 1;
  }
  return counts;
}

const ownerOf = ({ uid, namespace, name }: FleetAccountResource): Owner => ({ uid, namespace, name });

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
  { binding, account }: FleetAccountFacts,
  look: Look,
): Promise<void> {
  if (step.do === 'create') return await create(resource, look);
  if (step.do === 'adopt') return await adopt(step.accountId, resource, look);
  if (!binding) return;
  const { uid, spec, generation } = resource;
  const { record } = binding;
  switch (step.do) {
    case 'change':
      // Not named where it is so already: a disabling that comes in between must stay.
      return await change(step.disabled === account?.disabled ? undefined : step.disabled, resource, binding, look);
    case 'note':
      return await look.bindings.save(uid, binding, { ...record, generation });
    case 'release': {
      const disable = spec.deletionPolicy === 'Disable';
      const precondition = look.bindings.precondition(uid, binding, undefined);
      return await look.boundAccounts.release(
        look.origin(),
        record.accountId,
        ownerOf(resource),
        disable,
        precondition,
      );
    }
    case 'forget':
      return await look.bindings.save(uid, binding, undefined);
  }
}

async function create(resource: FleetAccountResource, look: Look): Promise<void> {
  const accountId = generateAccountId(look.random);
  const { entitlement } = resource.spec;
  const account = { name: accountNameOf(resource), entitlement, managedBy: ownerOf(resource) };
  const precondition = look.bindings.precondition(resource.uid, undefined, bindingTo(accountId, resource));
  await look.boundAccounts.create(look.origin(), accountId, account, precondition);
  look.notice({ type: 'Normal', reason: 'AccountCreated', note: `The account ${accountId} was created.` });
}

async function adopt(accountId: string, resource: FleetAccountResource, look: Look): Promise<void> {
  const precondition = look.bindings.precondition(resource.uid, undefined, bindingTo(accountId, resource));
  await look.boundAccounts.adopt(look.origin(), accountId, ownerOf(resource), precondition);
  look.notice({ type: 'Normal', reason: 'AccountAdopted', note: `The account ${accountId} was adopted.` });
}

async function change(
  disabled: boolean | undefined,
  resource: FleetAccountResource,
  binding: Binding,
  look: Look,
): Promise<void> {
  const { uid, spec, generation } = resource;
  const { record } = binding;
  const patch = {
    name: accountNameOf(resource),
    entitlement: spec.entitlement,
    ...(disabled !== undefined && { disabled }),
  };
  await look.accounts.change(
    look.origin(),
    record.accountId,
    patch,
    look.bindings.precondition(uid, binding, { ...record, generation }),
  );
  if (record.generation !== generation) return;
  const note = 'The account had been changed outside of Kubernetes; it is as the spec says again.';
  look.notice({ type: 'Normal', reason: 'DriftUndone', note });
}
