import { isFullyRevoked } from '../../../domain/apps/app-state.ts';
import type { AppRecord } from '../../../domain/records/app-records.ts';
import { isAppOfAnother, isOfferedTo, notOffered, wasAppOf } from '../../../domain/resource-bindings/adoption.ts';
import type { Binding } from '../../../domain/resource-bindings/bindings.ts';
import type { BindingRecord } from '../../../domain/records/binding-records.ts';
import { isFalse, type ConditionState } from '../runtime/conditions.ts';
import { CLEAN, type Answer, type Decision, type Instant } from '../runtime/kind.ts';
import type { FleetAppStatus } from '../schema/fleet-app.ts';
import { credentialWish } from '../supervisor/credential-wish.ts';
import { CREDENTIAL_KEY, SUPERVISOR_KEY } from '../supervisor/supervisor-secret.ts';
import { ACCOUNT_REQUEUE_MS, SECRET_REQUEUE_MS, accountTrouble, rebinds } from './account-ref.ts';
import { codeStateOf, codeWish } from './fleet-app-code.ts';
import { holdsCurrentSecret, type FleetAppFacts, type FleetAppResource } from './fleet-app-facts.ts';
import { settledApp, SLOW_REQUEUE_MS } from './fleet-app-status.ts';

/*
 * An app is created without a code. A code is generated and its hash is noted, then the code is written to the Secret,
 * and then that hash is registered. The process may end between any two: no code works that is in no Secret, and none
 * is made twice. A credential for a supervisor goes the same way: its hash is noted, it is written to the Secret, and
 * then the app is enrolled with that hash.
 */

export type FleetAppStep =
  | { readonly do: 'create' }
  | { readonly do: 'adopt'; readonly appId: string }
  /** Generates a code, notes its hash, and writes the Secret. */
  | { readonly do: 'issue' }
  | { readonly do: 'register' }
  /** Generates a credential, notes its hash, and writes the Secret. */
  | { readonly do: 'issueCredential' }
  /** Enrolls the app with the credential that the Secret holds. */
  | { readonly do: 'enroll' }
  /** Writes the Secret of a supervisor as it should be, with the credential that it holds. */
  | { readonly do: 'rewrite' }
  /** Makes the restored Secret with what is current this resource's own. */
  | { readonly do: 'takeSecret' }
  /** Voids the code that is in no Secret any more. */
  | { readonly do: 'void' }
  /** Writes the Secret as it should be but for the code; a code or credential that does not belong there is removed. */
  | { readonly do: 'write'; readonly withoutCode: boolean }
  /** Sets the labels and annotations of the Secret. */
  | { readonly do: 'dress' }
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
  // A change that takes access away is carried out first, whatever else is wrong.
  if (binding && app && spec.desiredState === 'Revoked' && !isFullyRevoked(app) && !refusal) {
    return { step: { do: 'revoke', after: binding.record } };
  }
  if (binding && app && wantsNoCode(spec) && codeStateOf(app, binding.record.code, now.at) === 'open' && !refusal) {
    return { step: { do: 'void' } };
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
    if (holdsCurrentSecret(resource, facts)) return { step: { do: 'takeSecret' } };
    const { name = '' } = spec.enrollment?.secretRef ?? {};
    const message = `The Secret ${name} was not created by Muster for this resource. Delete it, or name another one.`;
    return notReady('SecretNotOwned', message, SECRET_REQUEUE_MS);
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
  const known = { ...facts, binding, app };
  return spec.secretFormat === 'opamp'
    ? followCredential(resource, known, fresh, now.at)
    : follow(resource, known, fresh, now.at);
}

/** Whether no code may be open: none is to be issued, or there is no Secret for one. */
const wantsNoCode = ({ enrollment }: FleetAppResource['spec']): boolean =>
  enrollment?.secretRef === undefined || enrollment.issue === 'Never';

/** The cause of a further app, code, credential or write of the Secret. */
export function causeOfAppStep(
  step: FleetAppStep,
  { generation, spec }: FleetAppResource,
  { binding }: FleetAppFacts,
): Answer | undefined {
  if (!binding || !ANSWERS.has(step.do)) return undefined;
  const { record } = binding;
  const isFirst = !record.code && !record.credential && !record.pending && step.do !== 'create';
  const asked = record.generation !== generation && !record.pending;
  if (isFirst && !asked && (step.do === 'issue' || step.do === 'issueCredential')) return undefined;
  return { cause: asked ? 'spec' : 'outside', secret: spec.enrollment?.secretRef?.name };
}

const ANSWERS: ReadonlySet<FleetAppStep['do']> = new Set([
  'create',
  'issue',
  'issueCredential',
  'rewrite',
  'takeSecret',
  'write',
  'dress',
]);

function begin(resource: FleetAppResource, facts: FleetAppFacts, at: number): AppDecision {
  const { candidate } = facts;
  const { adoptAppId } = resource.spec;
  if (adoptAppId === undefined) return { step: { do: 'create' } };
  const here = { ...resource, namespaceUid: facts.namespaceUid };
  const may = candidate && (isOfferedTo(candidate, here, at) || wasAppOf(candidate, resource));
  return may ? { step: { do: 'adopt', appId: adoptAppId } } : notAdoptable(resource, facts, at);
}

function notAdoptable(resource: FleetAppResource, facts: FleetAppFacts, at: number): AppDecision {
  const { adoptAppId = '' } = resource.spec;
  const message = notOffered(`the app ${adoptAppId}`, { ...resource, namespaceUid: facts.namespaceUid });
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
  const step = written(resource, facts, code === 'open' && inPlace);
  return step ? { step } : finished(resource, facts, fresh, ready, at);
}

/** As `follow`, where a supervisor's file with a credential stands in the Secret, in place of a code. */
function followCredential(resource: FleetAppResource, facts: AppFacts, fresh: boolean, at: number): AppDecision {
  const { binding, app, secret, account } = facts;
  const { record } = binding;
  const { credential, pending, ...rest } = record;
  const inSecret = secret?.digests[CREDENTIAL_KEY];
  const ours = credential !== undefined && app.credential === credential.hash;
  const inPlace = ours && inSecret === credential.hash;
  const disabled = account.is === 'ready' && account.account.record.disabled;
  const { issue, ready } = credentialWish({ spec: resource.spec, app, fresh, ours, inPlace, disabled });
  // The app was revoked, or a daemon has enrolled, since the credential was generated.
  if (!issue && pending) return { step: { do: 'note', after: { ...rest, ...(credential && { credential }) } } };
  if (pending?.file && inSecret === pending.hash) return { step: { do: 'enroll' } };
  if (issue) return { step: { do: 'issueCredential' } };
  if (codeStateOf(app, record.code, at) === 'open') return { step: { do: 'void' } };
  const step = inPlace ? rewritten(facts, credential.file) : written(resource, facts, false);
  return step ? { step } : finished(resource, facts, fresh, ready, at);
}

const hasAddress = ({ secret, wanted }: AppFacts): boolean =>
  secret?.digests['appId'] === wanted.appId && secret.digests['serverUrl'] === wanted.serverUrl;

/** The step after which the Secret that holds the credential is right; undefined where it is. */
function rewritten(facts: AppFacts, file: { digest: string; settings: string }): FleetAppStep | undefined {
  const { secret, wanted } = facts;
  const isRight =
    hasAddress(facts) &&
    secret?.digests['enrollCode'] === undefined &&
    secret?.digests[SUPERVISOR_KEY] === file.digest &&
    file.settings === wanted.settings;
  return isRight ? undefined : { do: 'rewrite' };
}

/** The step after which the Secret has no more secrets than the code that works; undefined where it is so. */
function written({ spec }: FleetAppResource, facts: AppFacts, codeWorks: boolean): FleetAppStep | undefined {
  if (spec.enrollment?.secretRef === undefined) return undefined;
  const digests = facts.secret?.digests ?? {};
  const withoutCode = digests['enrollCode'] !== undefined && !codeWorks;
  const isRight =
    hasAddress(facts) && !withoutCode && digests[CREDENTIAL_KEY] === undefined && digests[SUPERVISOR_KEY] === undefined;
  return isRight ? undefined : { do: 'write', withoutCode };
}

/**
 * The decision once the Secret of the spec is right: one of another name goes, the generation is noted, and no step is
 * left.
 */
function finished(
  resource: FleetAppResource,
  facts: AppFacts,
  fresh: boolean,
  ready: ConditionState,
  at: number,
): AppDecision {
  if (!facts.isDressed) return { step: { do: 'dress' } };
  const moved = movedSecret(resource, facts);
  if (moved) return { step: moved };
  const after = { ...facts.binding.record, generation: resource.generation };
  return fresh ? { step: { do: 'note', after } } : settledApp(resource, facts, ready, at);
}

/** The next step until there is one Secret, under the name that the spec gives; undefined when it is so. */
function movedSecret({ spec }: FleetAppResource, { binding: { record } }: AppFacts): FleetAppStep | undefined {
  const { oldSecret, secretName, ...rest } = record;
  const name = spec.enrollment?.secretRef?.name;
  if (oldSecret !== undefined) {
    const after: BindingRecord = { ...rest, ...(secretName !== undefined && { secretName }) };
    return oldSecret === name ? { do: 'note', after } : { do: 'removeSecret', name: oldSecret, after };
  }
  if (secretName === name) return undefined;
  const after: BindingRecord = {
    ...rest,
    ...(name !== undefined && { secretName: name }),
    ...(secretName !== undefined && { oldSecret: secretName }),
  };
  return { do: 'note', after };
}
