import type { AccountReader } from '../../../domain/fleet/reader.ts';
import type { Link, LinkRecord } from '../../../domain/resource-bindings/bindings.ts';
import type { Owner } from '../../../domain/resource-bindings/bound-accounts.ts';
import { drawAccountId } from '../../../domain/credentials/random-ids.ts';
import {
  accountNameOf,
  decideFleetAccount,
  type FleetAccountFacts,
  type FleetAccountResource,
  type FleetAccountStep,
} from './fleet-account-decide.ts';
import type { Kind, Look } from '../runtime/kind.ts';
import { fleetAccount } from '../schema/fleet-account.ts';

/** An account of the fleet, made or adopted, and kept as the resource says. */
export const fleetAccountKind = {
  schema: fleetAccount,
  gather,
  decide: decideFleetAccount,
  act,
} satisfies Kind<typeof fleetAccount.spec, typeof fleetAccount.status, FleetAccountFacts, FleetAccountStep>;

async function gather(resource: FleetAccountResource, look: Look): Promise<FleetAccountFacts> {
  const link = await look.links.get(resource.uid);
  const accountId = link?.record.accountId ?? resource.spec.adoptAccountId;
  const account = accountId === undefined ? undefined : await (await look.fleet.current()).account(accountId);
  if (link) look.follow(link.record.accountId);
  return { link, account: account?.record, apps: await countsOf(account), sinceStatusMs: look.sinceStatusMs() };
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

const linkTo = (accountId: string, { kind, namespace, name, generation }: FleetAccountResource): LinkRecord => ({
  kind,
  namespace,
  name,
  accountId,
  generation,
});

async function act(
  step: FleetAccountStep,
  resource: FleetAccountResource,
  { link, account }: FleetAccountFacts,
  look: Look,
): Promise<void> {
  if (step.do === 'create') return await create(resource, look);
  if (step.do === 'adopt') return await adopt(step.accountId, resource, look);
  if (!link) return;
  const { uid, spec, generation } = resource;
  const { record } = link;
  switch (step.do) {
    case 'change':
      // Not named where it is so already: a disabling that comes in between must stay.
      return await change(step.disabled === account?.disabled ? undefined : step.disabled, resource, link, look);
    case 'note':
      return await look.links.save(uid, link, { ...record, generation });
    case 'release': {
      const disable = spec.deletionPolicy === 'Disable';
      const tie = look.links.tie(uid, link, undefined);
      return await look.linkedAccounts.release(look.origin(), record.accountId, ownerOf(resource), disable, tie);
    }
    case 'forget':
      return await look.links.save(uid, link, undefined);
  }
}

async function create(resource: FleetAccountResource, look: Look): Promise<void> {
  const accountId = drawAccountId(look.draw);
  const { entitlement } = resource.spec;
  const wish = { name: accountNameOf(resource), entitlement, owner: ownerOf(resource) };
  const tie = look.links.tie(resource.uid, undefined, linkTo(accountId, resource));
  await look.linkedAccounts.create(look.origin(), accountId, wish, tie);
  look.notice({ type: 'Normal', reason: 'AccountCreated', note: `The account ${accountId} was created.` });
}

async function adopt(accountId: string, resource: FleetAccountResource, look: Look): Promise<void> {
  const tie = look.links.tie(resource.uid, undefined, linkTo(accountId, resource));
  await look.linkedAccounts.adopt(look.origin(), accountId, ownerOf(resource), tie);
  look.notice({ type: 'Normal', reason: 'AccountAdopted', note: `The account ${accountId} was adopted.` });
}

async function change(
  disabled: boolean | undefined,
  resource: FleetAccountResource,
  link: Link,
  look: Look,
): Promise<void> {
  const { uid, spec, generation } = resource;
  const { record } = link;
  const patch = {
    name: accountNameOf(resource),
    entitlement: spec.entitlement,
    ...(disabled !== undefined && { disabled }),
  };
  await look.accounts.change(
    look.origin(),
    record.accountId,
    patch,
    look.links.tie(uid, link, { ...record, generation }),
  );
  if (record.generation !== generation) return;
  const note = 'The account had been changed outside of Kubernetes; it is as the spec says again.';
  look.notice({ type: 'Normal', reason: 'DriftUndone', note });
}
