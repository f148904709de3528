import { generateKeyId } from '../../../domain/credentials/random-ids.ts';
import { apiKeyOf, tokenHash } from '../../../domain/credentials/tokens.ts';
import { LIMITS } from '../../../domain/limits.ts';
import type { Binding } from '../../../domain/resource-bindings/bindings.ts';
import type { BindingRecord } from '../../../domain/records/binding-records.ts';
import { formerEndOf, hashOfKey } from '../../../domain/key-validity/key-expiry.ts';
import { scopeOf } from '../../../domain/key-validity/key-restriction.ts';
import type { Kind, ReconcileContext } from '../runtime/kind.ts';
import { fleetApiKey } from '../schema/fleet-api-key.ts';
import { accountOf, looksForSecret } from './account-ref.ts';
import { causeOfKeyStep, decideFleetApiKey, expiryOf, scopeOfSpec, settledKey } from './fleet-api-key-decide.ts';
import type { FleetApiKeyFacts, FleetApiKeyResource, FleetApiKeyStep } from './fleet-api-key-facts.ts';
import { displayNameOf } from '../runtime/resource.ts';

/** The kind FleetApiKey: an API key in a Secret. */
export const fleetApiKeyKind = {
  schema: fleetApiKey,
  gather,
  decide: decideFleetApiKey,
  failing: settledKey,
  causeOf: causeOfKeyStep,
  act,
} satisfies Kind<typeof fleetApiKey.spec, typeof fleetApiKey.status, FleetApiKeyFacts, FleetApiKeyStep>;

async function gather(resource: FleetApiKeyResource, context: ReconcileContext): Promise<FleetApiKeyFacts> {
  const { uid, spec } = resource;
  const binding = await context.bindings.get(uid);
  const account = await accountOf(context, spec.accountRef.name, binding);
  if (looksForSecret(resource, binding)) await context.secrets.look(spec.secretRef.name);
  const secret = context.secrets.known(spec.secretRef.name);
  if (binding) context.subscribe(binding.record.accountId);
  return {
    binding,
    account,
    ...(await storedKeysOf(binding, context)),
    room: account.is !== 'ready' || (await account.account.apiKeys()).length < LIMITS.apiKeysPerAccountMax,
    secret: secret && { own: secret.own, orphan: secret.orphan, ...digestsOf(secret.digests, spec.secretRef.key) },
    isDressed: secret?.isDressed ?? true,
    writers: context.secrets.writersOf(spec.secretRef.name),
  };
}

function digestsOf(digests: Readonly<Record<string, string>>, name: string) {
  const { [name]: digest, ...others } = digests;
  return { digest, others: Object.values(others) };
}

async function storedKeysOf(
  binding: Binding | undefined,
  context: ReconcileContext,
): Promise<Pick<FleetApiKeyFacts, 'registered' | 'scopes' | 'present' | 'isChangedOutside' | 'formerUntil'>> {
  if (!binding) return { registered: { key: false, previousKey: false } };
  const { accountId, key, previousKey } = binding.record;
  const account = await (await context.fleet.current()).account(accountId);
  const stored = key && (await account?.apiKey(key.keyId))?.record;
  const previous = previousKey && (await account?.apiKey(previousKey.keyId))?.record;
  const present = stored && { hash: hashOfKey(stored), expiresAt: stored.expiring?.expiresAt };
  return {
    registered: { key: stored !== undefined, previousKey: previous !== undefined },
    scopes: { key: stored && scopeOf(stored), previousKey: previous && scopeOf(previous) },
    present,
    isChangedOutside: present !== undefined && (present.hash !== key?.hash || present.expiresAt !== key.expiresAt),
    formerUntil: stored && formerEndOf(stored, context.clock.now()),
  };
}

async function act(
  step: FleetApiKeyStep,
  resource: FleetApiKeyResource,
  facts: FleetApiKeyFacts,
  context: ReconcileContext,
): Promise<void> {
  const { binding } = facts;
  switch (step.do) {
    case 'issue':
      return await issue(resource, facts, context);
    case 'register':
      return await register(resource, facts, context);
    case 'rotate':
      return await rotate(resource, facts, step.overlapMs, context);
    case 'takeSecret':
      return await context.secrets.takeOver(resource.spec.secretRef.name);
    case 'scope': {
      if (!binding) return;
      const precondition = context.bindings.precondition(resource.uid, binding, binding.record);
      const change = { keyId: step.keyId, scope: scopeOfSpec(resource.spec) };
      return await context.boundKeys.setScope(context.origin(), binding.record.accountId, change, precondition);
    }
    case 'note':
      return await context.bindings.save(resource.uid, binding, step.after);
    case 'dress':
      return await context.secrets.dress(resource.spec.secretRef.name);
    case 'removeSecret':
      await context.secrets.remove(step.name);
      return await context.bindings.save(resource.uid, binding, step.after);
    case 'revoke': {
      if (!binding) return;
      const precondition = context.bindings.precondition(resource.uid, binding, step.after);
      await context.apiKeys.revoke(context.origin(), binding.record.accountId, step.keyId, precondition);
      context.event({ type: 'Normal', reason: 'KeyRevoked', note: `The key ${step.keyId} was revoked.` });
    }
  }
}

async function issue(
  { uid, kind, namespace, name, generation, spec }: FleetApiKeyResource,
  { binding, account, registered }: FleetApiKeyFacts,
  context: ReconcileContext,
): Promise<void> {
  if (account.is !== 'ready') return;
  const {
    key,
    pending: _other,
    rotation: _earlier,
    ...rest
  } = binding?.record ?? {
    kind,
    namespace,
    name,
    accountId: account.account.id,
    generation,
  };
  const present = registered.key ? key : undefined;
  const keyId = present?.keyId ?? generateKeyId(context.random);
  const token = apiKeyOf(keyId, context.random);
  const hash = tokenHash(token.reveal());
  const after = present ? { ...rest, key: present, rotation: { hash } } : { ...rest, pending: { keyId, hash } };
  await context.bindings.noteSecret(uid, binding, after);
  const { secretRef } = spec;
  const others = Object.keys(context.secrets.known(secretRef.name)?.digests ?? {});
  const values = Object.fromEntries(others.map((other) => [other, undefined]));
  await context.secrets.write(secretRef.name, { ...values, [secretRef.key]: token });
}

async function register(
  resource: FleetApiKeyResource,
  { binding }: FleetApiKeyFacts,
  context: ReconcileContext,
): Promise<void> {
  const { keyId, hash } = binding?.record.pending ?? {};
  if (!binding || keyId === undefined || hash === undefined) return;
  const origin = context.origin();
  const after = following(resource, binding, { keyId, hash, issuedAt: origin.at });
  const key = { ...wishedOf(resource), keyId, hash, scope: scopeOfSpec(resource.spec) };
  const precondition = context.bindings.precondition(resource.uid, binding, after);
  await context.boundKeys.register(origin, binding.record.accountId, key, precondition);
  tell(context, 'KeyIssued', after);
}

async function rotate(
  resource: FleetApiKeyResource,
  { binding, present }: FleetApiKeyFacts,
  overlapMs: number,
  context: ReconcileContext,
): Promise<void> {
  const { key, rotation } = binding?.record ?? {};
  if (!binding || !key || !rotation || !present) return;
  const origin = context.origin();
  const { keyId } = key;
  const { hash } = rotation;
  const after = following(resource, binding, { keyId, hash, issuedAt: origin.at });
  const secret = { ...wishedOf(resource), keyId, hash, formerUntil: origin.at + overlapMs, replaces: present };
  const precondition = context.bindings.precondition(resource.uid, binding, after);
  await context.boundKeys.rotate(origin, binding.record.accountId, secret, precondition);
  tell(context, 'KeyRotated', after);
}

const wishedOf = ({ spec, name }: FleetApiKeyResource) => ({
  name: displayNameOf({ spec, name }),
  expiresAt: expiryOf(spec),
});

/** The binding once what was noted is the secret of the key. */
function following(
  { generation, spec }: FleetApiKeyResource,
  { record: { pending: _new, rotation: _next, key, ...rest } }: Binding,
  made: { readonly keyId: string; readonly hash: string; readonly issuedAt: number },
): BindingRecord {
  const expiresAt = expiryOf(spec);
  const secretName = spec.secretRef.name;
  return {
    ...rest,
    generation,
    key: { ...made, secretName, ...(expiresAt !== undefined && { expiresAt }) },
    ...(key && key.secretName !== secretName && { oldSecret: key.secretName }),
  };
}

function tell(context: ReconcileContext, reason: 'KeyIssued' | 'KeyRotated', { key }: BindingRecord): void {
  const note = `The key ${key?.keyId} is in the Secret ${key?.secretName}.`;
  context.event({ type: 'Normal', reason, note });
}
