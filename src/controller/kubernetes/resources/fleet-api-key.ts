import type { Link, LinkRecord } from '../../../domain/resource-bindings/bindings.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { drawApiKey, tokenHash } from '../../../domain/credentials/tokens.ts';
import { accountOf } from './account-ref.ts';
import {
  decideFleetApiKey,
  type FleetApiKeyFacts,
  type FleetApiKeyResource,
  type FleetApiKeyStep,
} from './fleet-api-key-decide.ts';
import type { Kind, Look } from '../runtime/kind.ts';
import { fleetApiKey } from '../schema/fleet-api-key.ts';

/** An API key in a Secret. */
export const fleetApiKeyKind = {
  schema: fleetApiKey,
  gather,
  decide: decideFleetApiKey,
  act,
} satisfies Kind<typeof fleetApiKey.spec, typeof fleetApiKey.status, FleetApiKeyFacts, FleetApiKeyStep>;

async function gather({ uid, spec }: FleetApiKeyResource, look: Look): Promise<FleetApiKeyFacts> {
  const link = await look.links.get(uid);
  const account = await accountOf(look, spec.accountRef.name, link);
  const secret = look.secrets.known(spec.secretRef.name);
  if (link) look.follow(link.record.accountId);
  return {
    link,
    account,
    registered: await registeredOf(link, look),
    room: account.is !== 'ready' || (await account.account.apiKeys()).length < LIMITS.apiKeysPerAccountMax,
    secret: secret && { own: secret.own, digest: secret.digests[spec.secretRef.key] },
  };
}

async function registeredOf(link: Link | undefined, look: Look): Promise<FleetApiKeyFacts['registered']> {
  if (!link) return { key: false, previousKey: false };
  const { accountId, key, previousKey } = link.record;
  const account = await (await look.fleet.current()).account(accountId);
  const isRegistered = async (keyId: string | undefined): Promise<boolean> =>
    keyId !== undefined && (await account?.apiKey(keyId)) !== undefined;
  return { key: await isRegistered(key?.keyId), previousKey: await isRegistered(previousKey?.keyId) };
}

async function act(
  step: FleetApiKeyStep,
  resource: FleetApiKeyResource,
  facts: FleetApiKeyFacts,
  look: Look,
): Promise<void> {
  const { link } = facts;
  switch (step.do) {
    case 'issue':
      return await issue(resource, facts, look);
    case 'register':
      return await register(resource, facts, step.overlapMs, look);
    case 'note':
      return await look.links.save(resource.uid, link, step.after);
    case 'removeSecret':
      await look.secrets.remove(step.name);
      return await look.links.save(resource.uid, link, step.after);
    case 'revoke': {
      if (!link) return;
      const tie = look.links.tie(resource.uid, link, step.after);
      await look.accounts.revokeKey(look.origin(), link.record.accountId, step.keyId, tie);
      look.notice({ type: 'Normal', reason: 'KeyRevoked', note: `The key ${step.keyId} was revoked.` });
    }
  }
}

async function issue(
  { uid, kind, namespace, name, generation, spec }: FleetApiKeyResource,
  { link, account, registered }: FleetApiKeyFacts,
  look: Look,
): Promise<void> {
  if (account.is !== 'ready') return;
  const { keyId, token } = drawApiKey(look.draw);
  const { key, ...rest } = link?.record ?? { kind, namespace, name, accountId: account.account.id, generation };
  const pending = { keyId, hash: tokenHash(token.reveal()) };
  await look.links.save(uid, link, { ...rest, ...(key && registered.key && { key }), pending });
  const { secretRef } = spec;
  const others = Object.keys(look.secrets.known(secretRef.name)?.digests ?? {});
  const values = Object.fromEntries(others.map((other) => [other, undefined]));
  await look.secrets.write(secretRef.name, { ...values, [secretRef.key]: token });
}

async function register(
  { uid, name, generation, spec }: FleetApiKeyResource,
  { link, registered }: FleetApiKeyFacts,
  overlapMs: number,
  look: Look,
): Promise<void> {
  if (!link) return;
  const { pending, key, ...rest } = link.record;
  if (pending?.keyId === undefined) return;
  const origin = look.origin();
  const { accountId } = link.record;
  const { keyId, hash } = pending;
  const after: LinkRecord = {
    ...rest,
    generation,
    key: { keyId, hash, issuedAt: origin.at, secretName: spec.secretRef.name },
    ...(key && { previousKey: { keyId: key.keyId, validUntil: origin.at + overlapMs } }),
    ...(key && key.secretName !== spec.secretRef.name && { oldSecret: key.secretName }),
  };
  await look.linkedKeys.register(
    origin,
    accountId,
    { keyId, hash, name: spec.displayName ?? name, ...(key && registered.key && { follows: key.keyId }) },
    look.links.tie(uid, link, after),
  );
  const note = `The key ${keyId} is in the Secret ${spec.secretRef.name}.`;
  look.notice({ type: 'Normal', reason: key ? 'KeyRotated' : 'KeyIssued', note });
}
