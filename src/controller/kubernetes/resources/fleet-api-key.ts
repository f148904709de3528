import { generateKeyId } from '../../../domain/credentials/random-ids.ts';
import { apiKeyOf, tokenHash } from '../../../domain/credentials/tokens.ts';
import { LIMITS } from '../../../domain/limits.ts';
import type { Binding } from '../../../domain/resource-bindings/bindings.ts';
import type { BindingRecord } from '../../../domain/records/binding-records.ts';
import { hashOfKey, workingFormer } from '../../../domain/key-validity/key-expiry.ts';
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
): Promise<Pick<FleetApiKeyFacts, 'registered' | 'scopes' | 'isChangedOutside' | 'formerUntil'>> {
  if (!binding) return { registered: { key: false, previousKey: false } };
  const { accountId, key, previousKey } = binding.record;
  const account = await (await context.fleet.current()).account(accountId);
  const stored = key && (await account?.apiKey(key.keyId))?.record;
  const previous = previousKey && (await account?.apiKey(previousKey.keyId))?.record;
  return {
    registered: { key: stored !== undefined, previousKey: previous !== undefined },
    scopes: { key: stored && scopeOf(stored), previousKey: previous && scopeOf(previous) },
    isChangedOutside:
      stored !== undefined && (hashOfKey(stored) !== key?.hash || stored.expiring?.expiresAt !== key.expiresAt),
    formerUntil: stored && workingFormer(stored, context.origin().at)?.expiresAt,
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
  const { key, ...rest } = binding?.record ?? { kind, namespace, name, accountId: account.account.id, generation };
  const present = registered.key ? key : undefined;
  const keyId = present?.keyId ?? generateKeyId(context.random);
  const token = apiKeyOf(keyId, context.random);
  const pending = { keyId, hash: tokenHash(token.reveal()) };
  await context.bindings.save(uid, binding, { ...rest, ...(present && { key: present }), pending });
  const { secretRef } = spec;
  const others = Object.keys(context.secrets.known(secretRef.name)?.digests ?? {});
  const values = Object.fromEntries(others.map((other) => [other, undefined]));
  await context.secrets.write(secretRef.name, { ...values, [secretRef.key]: token });
}

/** The noted secret that the Secret holds, with the binding once it is that of the key. */
function noted({ generation, spec }: FleetApiKeyResource, { record }: Binding, issuedAt: number) {
  const { pending, key, ...rest } = record;
  if (pending?.keyId === undefined) return undefined;
  const { keyId, hash } = pending;
  const expiresAt = expiryOf(spec);
  const secretName = spec.secretRef.name;
  const after: BindingRecord = {
    ...rest,
    generation,
    key: { keyId, hash, issuedAt, secretName, ...(expiresAt !== undefined && { expiresAt }) },
    ...(key && key.secretName !== secretName && { oldSecret: key.secretName }),
  };
  return { keyId, hash, expiresAt, after };
}

async function register(
  resource: FleetApiKeyResource,
  { binding }: FleetApiKeyFacts,
  context: ReconcileContext,
): Promise<void> {
  const origin = context.origin();
  const made = binding && noted(resource, binding, origin.at);
  if (!made) return;
  const { after, ...secret } = made;
  const { uid, name, spec } = resource;
  const key = { ...secret, name: displayNameOf({ spec, name }), scope: scopeOfSpec(spec) };
  const precondition = context.bindings.precondition(uid, binding, after);
  await context.boundKeys.register(origin, binding.record.accountId, key, precondition);
  tell(context, 'KeyIssued', after);
}

async function rotate(
  resource: FleetApiKeyResource,
  { binding }: FleetApiKeyFacts,
  overlapMs: number,
  context: ReconcileContext,
): Promise<void> {
  const origin = context.origin();
  const made = binding && noted(resource, binding, origin.at);
  if (!made) return;
  const { after, ...secret } = made;
  const precondition = context.bindings.precondition(resource.uid, binding, after);
  const next = { ...secret, formerUntil: origin.at + overlapMs };
  await context.boundKeys.rotate(origin, binding.record.accountId, next, precondition);
  tell(context, 'KeyRotated', after);
}

function tell(context: ReconcileContext, reason: 'KeyIssued' | 'KeyRotated', { key }: BindingRecord): void {
  const note = `The key ${key?.keyId} is in the Secret ${key?.secretName}.`;
  context.event({ type: 'Normal', reason, note });
}
