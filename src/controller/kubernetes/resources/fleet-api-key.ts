import { generateApiKey, tokenHash } from '../../../domain/credentials/tokens.ts';
import { LIMITS } from '../../../domain/limits.ts';
import type { Binding } from '../../../domain/resource-bindings/bindings.ts';
import type { BindingRecord } from '../../../domain/records/binding-records.ts';
import { hashOfKey } from '../../../domain/key-validity/key-expiry.ts';
import { scopeOf } from '../../../domain/key-validity/key-restriction.ts';
import type { Kind, ReconcileContext } from '../runtime/kind.ts';
import { fleetApiKey } from '../schema/fleet-api-key.ts';
import { accountOf, looksForSecret } from './account-ref.ts';
import {
  causeOfKeyStep,
  decideFleetApiKey,
  expiryOf,
  scopeOfSpec,
  settledKey,
  type FleetApiKeyFacts,
  type FleetApiKeyResource,
  type FleetApiKeyStep,
} from './fleet-api-key-decide.ts';
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
): Promise<Pick<FleetApiKeyFacts, 'registered' | 'scopes' | 'isChangedOutside'>> {
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
      return await register(resource, facts, step.overlapMs, context);
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
  const { keyId, token } = generateApiKey(context.random);
  const { key, ...rest } = binding?.record ?? { kind, namespace, name, accountId: account.account.id, generation };
  const pending = { keyId, hash: tokenHash(token.reveal()) };
  await context.bindings.save(uid, binding, { ...rest, ...(key && registered.key && { key }), pending });
  const { secretRef } = spec;
  const others = Object.keys(context.secrets.known(secretRef.name)?.digests ?? {});
  const values = Object.fromEntries(others.map((other) => [other, undefined]));
  await context.secrets.write(secretRef.name, { ...values, [secretRef.key]: token });
}

async function register(
  { uid, name, generation, spec }: FleetApiKeyResource,
  { binding, registered }: FleetApiKeyFacts,
  overlapMs: number,
  context: ReconcileContext,
): Promise<void> {
  if (!binding) return;
  const { pending, key, ...rest } = binding.record;
  if (pending?.keyId === undefined) return;
  const origin = context.origin();
  const { accountId } = binding.record;
  const { keyId, hash } = pending;
  const expiresAt = expiryOf(spec);
  const validUntil = origin.at + overlapMs;
  const after: BindingRecord = {
    ...rest,
    generation,
    key: {
      keyId,
      hash,
      issuedAt: origin.at,
      secretName: spec.secretRef.name,
      ...(expiresAt !== undefined && { expiresAt }),
    },
    ...(key && { previousKey: { keyId: key.keyId, validUntil } }),
    ...(key && key.secretName !== spec.secretRef.name && { oldSecret: key.secretName }),
  };
  await context.boundKeys.register(
    origin,
    accountId,
    {
      keyId,
      hash,
      name: displayNameOf({ spec, name }),
      scope: scopeOfSpec(spec),
      expiresAt,
      ...(key && registered.key && { follows: { keyId: key.keyId, validUntil } }),
    },
    context.bindings.precondition(uid, binding, after),
  );
  const note = `The key ${keyId} is in the Secret ${spec.secretRef.name}.`;
  context.event({ type: 'Normal', reason: key ? 'KeyRotated' : 'KeyIssued', note });
}
