import { isFullyRevoked } from '../../../domain/apps/app-state.ts';
import type { AppRecord } from '../../../domain/records/records.ts';
import { isAppOfAnother, isOfferedTo, resourceNameOf, wasAppOf } from '../../../domain/resource-bindings/adoption.ts';
import type { Binding, BindingRecord } from '../../../domain/resource-bindings/bindings.ts';
import { isFalse } from '../runtime/conditions.ts';
import { CLEAN, type Decision, type Instant } from '../runtime/kind.ts';
import type { FleetAppStatus } from '../schema/fleet-app.ts';
import { ACCOUNT_REQUEUE_MS, accountTrouble, rebinds } from './account-ref.ts';
import { codeStateOf, codeWish } from './fleet-app-code.ts';
import type { FleetAppFacts, FleetAppResource } from './fleet-app-facts.ts';
import { settledApp, SLOW_REQUEUE_MS } from './fleet-app-status.ts';

/*
 * An app is created without a code. A code is generated and its hash is noted, then the code is written to the Secret,
 * and then that hash is registered. The process may end between any two: no code works that is in no Secret, and none
 * is made twice.
 */

export type FleetAppStep =
  | { readonly do: 'create' }
  | { readonly do: 'adopt'; readonly appId: string }
  /** Generates a code, notes its hash, and writes the Secret. */
  | { readonly do: 'issue' }
  | { readonly do: 'register' }
  /** Voids the code that is in no Secret any more. */
  | { readonly do: 'void' }
  /** Writes the Secret as it should be but for the code; a code that does not work any more is removed from it. */
  | { readonly do: 'write'; readonly withoutCode: boolean }
  | { readonly do: 'revoke'; readonly after: BindingRecord | undefined }
  | { readonly do: 'delete' }
  /** Leaves the app as it is, and forgets it. */
  | { readonly do: 'release' }
  | { readonly do: 'note'; readonly after: BindingRecord | undefined }
  | { readonly do: 'removeSecret'; readonly name: string; readonly after: BindingRecord };

type AppDecision = Decision<FleetAppStep, FleetAppStatus>;

/** Decides the next step for a FleetApp, or its status. An app that was revoked outside stays revoked (A8). */
export function decideFleetApp(resource: FleetAppResource, facts: FleetAppFacts, now: Instant): AppDecision {
  const { binding, account, app, secret } = facts;
  const { spec, generation } = resource;
  if (resource.deleting || rebinds(resource, account)) return cleanUp(resource, facts, now.refused.length > 0);
  const [refusal] = now.refused;
  const notReady = (reason: string, message: string, requeueAfterMs = SLOW_REQUEUE_MS): AppDecision =>
    settledApp(resource, facts, isFalse('Ready', reason, message), now.at, requeueAfterMs);
  if (binding && app && isAppOfAnother(app, resource.uid)) {
    return notReady('ManagedByAnother', 'An operator has given the app to another FleetApp. Delete this resource.');
  }
  // A revocation is carried out first, whatever else is wrong.
  if (binding && app && spec.desiredState === 'Revoked' && !isFullyRevoked(app) && !refusal) {
    return { step: { do: 'revoke', after: binding.record } };
  }
  if (account.is !== 'ready') {
    const ready = accountTrouble(account, spec.accountRef.name);
    return settledApp(resource, facts, ready, now.at, ACCOUNT_REQUEUE_MS);
  }
  if (refusal?.do === 'adopt') return notAdoptable(resource, facts, now.at);
  if (refusal) {
    if (refusal.code === 'limit_reached')
      return notReady('LimitReached', 'The account has as many apps as it may have.');
    return notReady('Refused', refusal.says ?? `The step ${refusal.do} was refused: ${refusal.code}.`);
  }
  if (secret && !secret.own) {
    const { name = '' } = spec.enrollment?.secretRef ?? {};
    const message = `The Secret ${name} was not created by Muster for this resource. Delete it, or name another one.`;
    return notReady('SecretNotOwned', message);
  }
  if (binding?.record.appId === undefined) return begin(resource, facts, now.at);
  const fresh = binding.record.generation !== generation;
  if (!app && spec.adoptAppId !== undefined) {
    return notReady(
      'ChangedOutside',
      'The app that was adopted was deleted outside of Kubernetes. Delete this resource.',
    );
  }
  if (!app) {
    if (fresh && spec.desiredState === 'Active') return { step: { do: 'create' } };
    return notReady('ChangedOutside', 'The app was deleted outside of Kubernetes. Change the spec to have a new one.');
  }
  return follow(resource, { ...facts, binding, app }, fresh, now.at);
}

function begin(resource: FleetAppResource, facts: FleetAppFacts, at: number): AppDecision {
  const { candidate } = facts;
  const { adoptAppId } = resource.spec;
  if (adoptAppId === undefined) return { step: { do: 'create' } };
  const may = candidate && (isOfferedTo(candidate, resource) || wasAppOf(candidate, resource));
  return may ? { step: { do: 'adopt', appId: adoptAppId } } : notAdoptable(resource, facts, at);
}

/** The message is the same whether or not there is such an app: a writer of resources must not find that out. */
function notAdoptable(resource: FleetAppResource, facts: FleetAppFacts, at: number): AppDecision {
  const { adoptAppId = '' } = resource.spec;
  const message = `An operator must set adoptableBy of the app ${adoptAppId} to ${resourceNameOf(resource)}.`;
  return settledApp(resource, facts, isFalse('Ready', 'NotAdoptable', message), at, ACCOUNT_REQUEUE_MS);
}

function cleanUp({ spec, uid }: FleetAppResource, { binding, app }: FleetAppFacts, refused: boolean): AppDecision {
  if (!binding) return CLEAN;
  if (!app || refused || isAppOfAnother(app, uid)) return { step: { do: 'note', after: undefined } };
  if (spec.deletionPolicy === 'Delete') return { step: { do: 'delete' } };
  const revokes = spec.deletionPolicy === 'Revoke' && !isFullyRevoked(app);
  return { step: revokes ? { do: 'revoke', after: binding.record } : { do: 'release' } };
}

type AppFacts = FleetAppFacts & { readonly binding: Binding; readonly app: AppRecord };

function follow(resource: FleetAppResource, facts: AppFacts, fresh: boolean, at: number): AppDecision {
  const { binding, app, secret } = facts;
  const { spec } = resource;
  const { record } = binding;
  const inSecret = secret?.digests['enrollCode'];
  const code = codeStateOf(app, record.code, at);
  const inPlace = record.code !== undefined && inSecret === record.code.hash;
  const { issue, ready } = codeWish({ spec, app, fresh, code, inPlace, expiresAt: record.code?.expiresAt }, at);
  const { pending, ...rest } = record;
  // The app was revoked since the code was generated: registered now, the code would bring the app back.
  if (pending && !issue) return { step: { do: 'note', after: rest } };
  if (pending && inSecret === pending.hash) return { step: { do: 'register' } };
  if (issue) return { step: { do: 'issue' } };
  if (code === 'open' && spec.enrollment?.secretRef === undefined) return { step: { do: 'void' } };
  if (code === 'open' && spec.enrollment?.issue === 'Never') return { step: { do: 'void' } };
  const tidy = tidied(resource, facts, code === 'open' && inPlace);
  if (tidy) return tidy;
  if (fresh) return { step: { do: 'note', after: { ...record, generation: resource.generation } } };
  return settledApp(resource, facts, ready, at);
}

/** The next step until one Secret, under the name that the spec gives, holds what it should; undefined when it does. */
function tidied(
  { spec }: FleetAppResource,
  { binding, secret, wanted }: AppFacts,
  codeWorks: boolean,
): AppDecision | undefined {
  const { record } = binding;
  const { oldSecret, secretName, ...rest } = record;
  const name = spec.enrollment?.secretRef?.name;
  if (name !== undefined) {
    const digests = secret?.digests ?? {};
    const withoutCode = digests['enrollCode'] !== undefined && !codeWorks;
    if (digests['appId'] !== wanted.appId || digests['serverUrl'] !== wanted.serverUrl || withoutCode) {
      return { step: { do: 'write', withoutCode } };
    }
  }
  if (oldSecret !== undefined) {
    const after: BindingRecord = { ...rest, ...(secretName !== undefined && { secretName }) };
    return { step: oldSecret === name ? { do: 'note', after } : { do: 'removeSecret', name: oldSecret, after } };
  }
  if (secretName === name) return undefined;
  const after: BindingRecord = {
    ...rest,
    ...(name !== undefined && { secretName: name }),
    ...(secretName !== undefined && { oldSecret: secretName }),
  };
  return { step: { do: 'note', after } };
}
