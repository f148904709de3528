import { isWithin, type KeyScope } from '../../../domain/key-validity/key-restriction.ts';
import type { Binding } from '../../../domain/resource-bindings/bindings.ts';
import type { BindingRecord } from '../../../domain/records/binding-records.ts';
import { isFalse, isTrue, type ConditionState } from '../runtime/conditions.ts';
import { CLEAN, type Answer, type Decision, type Instant, type Settled } from '../runtime/kind.ts';
import { named, WRITE_CONFLICT } from '../runtime/contention.ts';
import { durationMs } from '../schema/common.ts';
import type { FleetApiKeySpec, FleetApiKeyStatus } from '../schema/fleet-api-key.ts';
import { ACCOUNT_REQUEUE_MS, SECRET_REQUEUE_MS, accountTrouble, rebinds } from './account-ref.ts';
import type { FleetApiKeyFacts, FleetApiKeyResource, FleetApiKeyStep } from './fleet-api-key-facts.ts';

/*
 * A secret is generated and its hash is noted, then it is written to the Secret, and then that hash is registered, of a
 * new key or as the next secret of the key that is there, in this order. The process may end between any two: where no
 * Secret holds the noted one, another is generated; where one does, the same hash is registered, once. A hash that was
 * not noted is never registered, so nobody can have a key of their own choice accepted by writing it into the Secret.
 *
 * Earlier versions rotated by another key: the binding names the one before as `previousKey` until it ends.
 */

const OVERLAP_MS = 600_000;
const SLOW_REQUEUE_MS = 300_000;

type KeyDecision = Decision<FleetApiKeyStep, FleetApiKeyStatus>;

/**
 * Decides the next step for a FleetApiKey, or its status. A key that was revoked outside is not issued again by itself.
 */
export function decideFleetApiKey(resource: FleetApiKeyResource, facts: FleetApiKeyFacts, now: Instant): KeyDecision {
  const { binding, account, secret } = facts;
  if (resource.deleting || rebinds(resource, account)) return cleanUp(facts);
  const [refusal] = now.refused;
  const notReady = (reason: string, message: string, requeueAfterMs = SLOW_REQUEUE_MS): KeyDecision =>
    settledKey(resource, facts, { ready: isFalse('Ready', reason, message), at: now.at }, requeueAfterMs);
  // A key that is to end ends first, whatever else is wrong.
  const ends = refusal ? undefined : ending(resource, facts, now.at);
  if (ends) return ends;
  if (account.is !== 'ready') {
    const ready = accountTrouble(account, resource.spec.accountRef.name);
    return settledKey(resource, facts, { ready, at: now.at }, ACCOUNT_REQUEUE_MS);
  }
  if (secret && !secret.own) {
    if (holdsCurrentKey(resource, facts)) return { step: { do: 'takeSecret' } };
    const { name } = resource.spec.secretRef;
    const message = `The Secret ${name} was not created by Muster for this resource. Delete it, or name another one.`;
    return notReady('SecretNotOwned', message, SECRET_REQUEUE_MS);
  }
  if (isExpired(resource.spec, now.at)) {
    const message = `The key has expired at ${resource.spec.expiresAt}. Change expiresAt to have another secret of it.`;
    return notReady('KeyExpired', message, Infinity);
  }
  if (refusal) {
    const reason =
      refusal.do === 'register' && refusal.code === 'invalid_request' && !facts.room ? 'LimitReached' : 'Refused';
    const message = refusal.says ?? `The key was refused: ${refusal.code}.`;
    return notReady(reason, message);
  }
  return binding ? follow(resource, binding, facts, now.at) : issue(resource, facts, now.at);
}

/** Whether the Secret is nobody's, and holds the key that works, by its hash: only Muster and its readers know that. */
function holdsCurrentKey({ spec }: FleetApiKeyResource, { binding, registered, secret }: FleetApiKeyFacts): boolean {
  const { key } = binding?.record ?? {};
  const isCurrent = key !== undefined && secret?.digest === key.hash && key.secretName === spec.secretRef.name;
  return secret?.orphan === true && registered.key && isCurrent;
}

/** The time at which the keys of the spec stop working, in milliseconds since 1970; undefined: never. */
export const expiryOf = ({ expiresAt }: FleetApiKeySpec): number | undefined =>
  expiresAt === undefined ? undefined : Date.parse(expiresAt);

const isExpired = (spec: FleetApiKeySpec, at: number): boolean => at >= (expiryOf(spec) ?? Infinity);

/**
 * Ends a former key that has had its time or was revoked. Once the keys of the spec have expired it ends every key:
 * also one that was made for a later instant.
 */
function ending(resource: FleetApiKeyResource, facts: FleetApiKeyFacts, at: number): KeyDecision | undefined {
  const { spec } = resource;
  const { binding, registered } = facts;
  if (!binding) return undefined;
  const { key, previousKey, ...rest } = binding.record;
  const isOver = isExpired(spec, at);
  if (previousKey && !registered.previousKey) return { step: { do: 'note', after: { ...rest, ...(key && { key }) } } };
  if (previousKey && (isOver || at >= previousKey.validUntil)) {
    return { step: { do: 'revoke', keyId: previousKey.keyId, after: { ...rest, ...(key && { key }) } } };
  }
  const scoping = scopingOf(resource, facts);
  if (scoping) return scoping;
  if (!isOver || !key || !registered.key || key.expiresAt === expiryOf(spec)) return undefined;
  const { rotation: _lost, ...after } = rest;
  return { step: { do: 'revoke', keyId: key.keyId, after } };
}

/** The access that the spec gives the keys. */
export const scopeOfSpec = ({ access = 'full', allowedCidrs = [] }: FleetApiKeySpec): KeyScope => ({
  access,
  allowedCidrs,
});

/** A key that may do more than the spec says is narrowed at once; one that may do less is widened by a new spec. */
function scopingOf(
  { spec, generation }: FleetApiKeyResource,
  { binding, scopes = {} }: FleetApiKeyFacts,
): KeyDecision | undefined {
  const { key, previousKey } = binding?.record ?? {};
  const wanted = scopeOfSpec(spec);
  const isFresh = binding?.record.generation !== generation;
  const isRight = (scope: KeyScope): boolean => isWithin(scope, wanted) && (!isFresh || isWithin(wanted, scope));
  if (key && scopes.key && !isRight(scopes.key)) return { step: { do: 'scope', keyId: key.keyId } };
  if (previousKey && scopes.previousKey && !isRight(scopes.previousKey)) {
    return { step: { do: 'scope', keyId: previousKey.keyId } };
  }
  return undefined;
}

/** A new key needs room in the account, and another secret of a key none. */
function issue(resource: FleetApiKeyResource, facts: FleetApiKeyFacts, at: number): KeyDecision {
  if (facts.room || facts.registered.key) return { step: { do: 'issue' } };
  const message = 'The account has as many API keys as it may have. Revoke one first.';
  return settledKey(resource, facts, { ready: isFalse('Ready', 'LimitReached', message), at }, SLOW_REQUEUE_MS);
}

function cleanUp({ binding, registered }: FleetApiKeyFacts): KeyDecision {
  if (!binding) return CLEAN;
  const { key, previousKey, ...rest } = binding.record;
  if (previousKey && registered.previousKey) {
    return { step: { do: 'revoke', keyId: previousKey.keyId, after: { ...rest, ...(key && { key }) } } };
  }
  if (key && registered.key) return { step: { do: 'revoke', keyId: key.keyId, after: undefined } };
  return { step: { do: 'note', after: undefined } };
}

function follow(resource: FleetApiKeyResource, binding: Binding, facts: FleetApiKeyFacts, at: number): KeyDecision {
  const { record } = binding;
  const { spec, generation } = resource;
  const { secret, registered } = facts;
  const { key, pending, rotation } = record;
  const fresh = record.generation !== generation;
  if (key && (pending ?? rotation) && (!registered.key || facts.isChangedOutside === true) && !fresh) {
    // The key was revoked, rotated or made to end while what follows was on the way: that would undo it.
    const { pending: _dropped, rotation: _lost, ...after } = record;
    return { step: { do: 'note', after } };
  }
  // One that was rotated outside, too, keeps its overlap.
  const isDue = facts.isChangedOutside !== true || formerEnd(facts) === undefined;
  if (rotation && registered.key && isDue && secret?.digest === rotation.hash) {
    return { step: { do: 'rotate', overlapMs: (spec.rotation && durationMs(spec.rotation.overlap)) ?? OVERLAP_MS } };
  }
  if (pending && !registered.key && secret?.digest === pending.hash) return { step: { do: 'register' } };
  if (!key) return issue(resource, facts, at);
  if (!registered.key && !fresh) {
    const message = 'The key was revoked outside of Kubernetes. Change the spec to have a new one issued.';
    return settledKey(resource, facts, { ready: isFalse('Ready', 'ChangedOutside', message), at }, SLOW_REQUEUE_MS);
  }
  if (facts.isChangedOutside === true && !fresh) {
    const message = `The key was rotated, or its end was brought forward, outside of Kubernetes: what the Secret ${key.secretName} holds ends. Change the spec to have another secret issued.`;
    return settledKey(resource, facts, { ready: isFalse('Ready', 'ChangedOutside', message), at }, SLOW_REQUEUE_MS);
  }
  if (facts.scopes?.key && !isWithin(scopeOfSpec(spec), facts.scopes.key)) {
    const message = `The key ${key.keyId} was narrowed outside of Kubernetes. Change the spec to have it as the spec says.`;
    return settledKey(resource, facts, { ready: isFalse('Ready', 'ChangedOutside', message), at }, SLOW_REQUEUE_MS);
  }
  const inPlace =
    facts.isChangedOutside !== true &&
    secret?.digest === key.hash &&
    key.secretName === spec.secretRef.name &&
    key.expiresAt === expiryOf(spec);
  if (!registered.key) return issue(resource, facts, at);
  if (!inPlace || at >= rotationAt(spec, key.issuedAt)) {
    const formerUntil = formerEnd(facts);
    return formerUntil === undefined
      ? issue(resource, facts, at)
      : awaitFormer(resource, facts, formerUntil, { inPlace, at });
  }
  if (!facts.isDressed) return { step: { do: 'dress' } };
  const { oldSecret, ...rest } = record;
  if (oldSecret !== undefined && formerEnd(facts) === undefined) {
    const after: BindingRecord = rest;
    return {
      step: oldSecret === key.secretName ? { do: 'note', after } : { do: 'removeSecret', name: oldSecret, after },
    };
  }
  if (fresh) return { step: { do: 'note', after: { ...record, generation } } };
  const ready = isTrue('Ready', 'Issued', `The key ${key.keyId} is in the Secret ${key.secretName}.`);
  return settledKey(resource, facts, { ready, at }, rotationAt(spec, key.issuedAt) - at);
}

/** The end of what works beside the present secret: the secret before it, or the key before. */
const formerEnd = ({ binding, formerUntil }: FleetApiKeyFacts): number | undefined =>
  binding?.record.previousKey?.validUntil ?? formerUntil;

/** Beside the present secret one former secret works at most, for as long as its overlap promises. */
function awaitFormer(
  resource: FleetApiKeyResource,
  facts: FleetApiKeyFacts,
  formerUntil: number,
  { inPlace, at }: { readonly inPlace: boolean; readonly at: number },
): KeyDecision {
  const { key, previousKey } = facts.binding?.record ?? {};
  const { name } = resource.spec.secretRef;
  const [what, how] = previousKey
    ? [`key ${previousKey.keyId}`, 'revoke it']
    : [`secret of ${key?.keyId}`, 'run `muster api-keys end-overlap`'];
  const waits = `The next secret is issued when the former ${what} ends at ${instant(formerUntil)}; ${how} to have it at once.`;
  const ready = inPlace
    ? isTrue('Ready', 'Issued', `The key ${key?.keyId} is in the Secret ${name}. ${waits}`)
    : facts.isChangedOutside === true
      ? isFalse('Ready', 'ChangedOutside', `The key was rotated outside of Kubernetes. ${waits}`)
      : asksForAnother(resource, facts)
        ? isFalse('Ready', 'Progressing', `The spec asks for another secret of the key. ${waits}`)
        : isFalse('Ready', WRITE_CONFLICT, `The Secret ${name} has lost the key${named(facts.writers)}. ${waits}`);
  return settledKey(resource, facts, { ready, at });
}

/** Whether the current key is not the one of the spec by the spec itself, and not since somebody changed the Secret. */
function asksForAnother({ spec, generation }: FleetApiKeyResource, { binding, secret }: FleetApiKeyFacts): boolean {
  const { key } = binding?.record ?? {};
  if (!key || binding?.record.generation === generation) return false;
  const isMoved = key.secretName !== spec.secretRef.name || secret?.others?.includes(key.hash) === true;
  return isMoved || key.expiresAt !== expiryOf(spec);
}

/** The cause of a further key; a rotation is seldom, and counts as one. */
export function causeOfKeyStep(
  step: FleetApiKeyStep,
  { generation, spec }: FleetApiKeyResource,
  { binding }: FleetApiKeyFacts,
): Answer | undefined {
  if (!binding || !ANSWERS.has(step.do)) return undefined;
  const { record } = binding;
  const asked = record.generation !== generation && !record.pending && !record.rotation;
  return { cause: asked ? 'spec' : 'outside', secret: spec.secretRef.name };
}

const ANSWERS: ReadonlySet<FleetApiKeyStep['do']> = new Set(['issue', 'dress', 'takeSecret']);

const rotationAt = ({ rotation }: FleetApiKeySpec, issuedAt: number): number =>
  issuedAt + ((rotation && durationMs(rotation.interval)) ?? Infinity);

const instant = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');

/**
 * The status of a FleetApiKey for which no step is left, or of which one failed. It is looked at again when a key is to
 * end, or sooner.
 */
export function settledKey(
  { spec }: FleetApiKeyResource,
  facts: FleetApiKeyFacts,
  { ready, at }: { readonly ready: ConditionState; readonly at: number },
  pauseMs: number = Infinity,
): Settled<FleetApiKeyStatus> {
  const { binding, registered } = facts;
  const { key } = binding?.record ?? {};
  const next = key ? rotationAt(spec, key.issuedAt) : Infinity;
  const formerUntil = formerEnd(facts);
  const ends = [formerUntil, key && expiryOf(spec)].filter((end) => end !== undefined && end > at);
  const requeueAfterMs = Math.min(pauseMs, ...ends.map((end = Infinity) => end - at));
  return {
    settled: {
      status: {
        ...(key && registered.key && { keyId: key.keyId, secretName: key.secretName, issuedAt: instant(key.issuedAt) }),
        ...(registered.key && next < Infinity && { nextRotationAt: instant(next) }),
        ...(formerUntil !== undefined && { previousKeyValidUntil: instant(formerUntil) }),
      },
      conditions: [ready],
      ...(requeueAfterMs < Infinity && { requeueAfterMs }),
    },
  };
}
