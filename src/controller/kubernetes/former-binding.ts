import { isAppOfAnother, isOfferedTo, wasAccountOf, type Owner } from '../../domain/resource-bindings/adoption.ts';
import type { BindingOf } from '../../domain/resource-bindings/bindings.ts';
import { isFalse, type ConditionState } from './runtime/conditions.ts';
import type { ReconcileContext } from './runtime/kind.ts';
import type { Resource } from './runtime/resource.ts';
import type { FleetAccountResource } from './resources/fleet-account-decide.ts';
import { accountOf, accountTrouble } from './resources/account-ref.ts';

/*
 * A restore brings the resources back under new UIDs. One whose names match the binding of another UID takes that up by
 * an operator's consent alone, and makes nothing of its own before (ADR 0064).
 */

/** A resource that belongs to a FleetAccount. */
type Dependant = Resource<
  { readonly accountRef: { readonly name: string }; readonly adoptAppId?: string | undefined },
  unknown
>;

/** The part of a reconciliation that this needs. */
export type Recovering = Pick<
  ReconcileContext,
  'bindings' | 'recoveries' | 'fleet' | 'clock' | 'find' | 'namespaceUid' | 'origin' | 'event'
>;

/** As `formerOfDependant`, of a FleetAccount: the binding of the one that the account still follows. */
export async function formerOfAccount(
  resource: FleetAccountResource,
  context: Recovering,
): Promise<ConditionState | undefined> {
  const { uid, namespace, name, spec } = resource;
  const candidates = await candidatesOf(resource, context);
  if (candidates.length === 0) return undefined;
  const namespaceUid = await context.namespaceUid();
  const owner: Owner = { uid, namespace, name, ...(namespaceUid !== undefined && { namespaceUid }) };
  for (const former of candidates) {
    const { accountId } = former.record;
    if (spec.adoptAccountId !== undefined && spec.adoptAccountId !== accountId) continue;
    const record = (await (await context.fleet.current()).account(accountId))?.record;
    if (record?.managedBy?.uid !== former.uid) continue;
    // In the same namespace the account is taken up as after a deletion, and an offer needs no other consent.
    if (wasAccountOf(record, owner) || isOfferedTo(record, owner, context.clock.now())) return undefined;
    return await takenUp(resource, former, namespaceUid, context);
  }
  return undefined;
}

/**
 * Has a resource without a binding take up the one of a former UID, where there is one of its names and its account.
 * @returns the condition `Ready` of one that waits for the consent, or for its account; undefined where it may go on
 * @throws KubeError, StoreUnavailable, Busy, StaleRead, BadRecord
 */
export async function formerOfDependant(resource: Dependant, context: Recovering): Promise<ConditionState | undefined> {
  const candidates = await candidatesOf(resource, context);
  if (candidates.length === 0) return undefined;
  const { adoptAppId, accountRef } = resource.spec;
  const found = await accountOf(context, accountRef.name, undefined);
  // The account may be recovered a moment later: what this goes on with would be new then, beside the former.
  if (found.is !== 'ready') return accountTrouble(found, accountRef.name);
  for (const former of candidates) {
    const { accountId, appId = '' } = former.record;
    if (accountId !== found.account.id || (adoptAppId !== undefined && adoptAppId !== appId)) continue;
    const app = await found.account.app(appId);
    if (app && isAppOfAnother(app.record, former.uid)) continue;
    return await takenUp(resource, former, await context.namespaceUid(), context);
  }
  return undefined;
}

async function candidatesOf(
  resource: Resource<unknown, unknown>,
  { bindings }: Recovering,
): Promise<readonly BindingOf[]> {
  const others = await bindings.formerOf(resource.uid, resource);
  return others.length > 0 && (await bindings.get(resource.uid)) ? [] : others;
}

async function takenUp(
  { kind, uid, namespace, generation }: Resource<unknown, unknown>,
  former: BindingOf,
  namespaceUid: string | undefined,
  context: Recovering,
): Promise<ConditionState | undefined> {
  const consent = await context.recoveries.holding(namespace);
  if (namespaceUid === undefined || consent?.namespaceUid !== namespaceUid) {
    return isFalse('Ready', 'FormerBinding', waitingWords(kind, namespace, namespaceUid));
  }
  const heir = { uid, namespace, namespaceUid, generation };
  await context.recoveries.recover(context.origin(), context.bindings, former, heir);
  const note = `It goes on with what a ${kind} of its name stood for, which had the UID ${former.uid}.`;
  context.event({ type: 'Normal', reason: 'Recovered', note });
  return undefined;
}

const waitingWords = (kind: string, namespace: string, namespaceUid: string | undefined): string =>
  namespaceUid === undefined
    ? `A ${kind} of this name had another UID, and the namespace ${namespace} cannot be read: taking up what that one ` +
      'stood for needs the right to get it, for its UID.'
    : `A ${kind} of this name had another UID. To take up what that one stood for, an operator of Muster runs ` +
      `'muster kubernetes recover ${namespace}'. Under another name it begins anew.`;
