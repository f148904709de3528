import { codeExpiry } from '../../../domain/apps/app-state.ts';
import type { Caller } from '../../../domain/apps/apps.ts';
import { generateAppId } from '../../../domain/credentials/random-ids.ts';
import type { Secret } from '../../../domain/credentials/secret.ts';
import { generateEnrollCode, tokenHash } from '../../../domain/credentials/tokens.ts';
import { lastSeenAt } from '../../../domain/fleet/reader.ts';
import { LIMITS } from '../../../domain/limits.ts';
import type { Precondition } from '../../../domain/mutation/authority.ts';
import type { Binding, BindingRecord } from '../../../domain/resource-bindings/bindings.ts';
import type { Kind, Look } from '../runtime/kind.ts';
import { fleetApp } from '../schema/fleet-app.ts';
import { accountOf } from './account-ref.ts';
import { decideFleetApp, type FleetAppStep } from './fleet-app-decide.ts';
import type { FleetAppFacts, FleetAppResource } from './fleet-app-facts.ts';

/** An app, and the Secret that its daemon enrolls with. */
export const fleetAppKind = {
  schema: fleetApp,
  gather,
  decide: decideFleetApp,
  act,
} satisfies Kind<typeof fleetApp.spec, typeof fleetApp.status, FleetAppFacts, FleetAppStep>;

async function gather({ uid, spec }: FleetAppResource, look: Look): Promise<FleetAppFacts> {
  const binding = await look.bindings.get(uid);
  const account = await accountOf(look, spec.accountRef.name, binding);
  const { accountId, appId = '' } = binding?.record ?? { accountId: '' };
  const owner = await (await look.fleet.current()).account(accountId);
  const app = await owner?.app(appId);
  if (appId !== '') look.follow(accountId, appId);
  const name = spec.enrollment?.secretRef?.name;
  const secret = name === undefined ? undefined : look.secrets.known(name);
  return {
    binding,
    account,
    app: app?.record,
    seenAt: app && owner ? lastSeenAt(app.record, await owner.seen()) : null,
    secret: secret && { own: secret.own, digests: secret.digests },
    wanted: { appId: tokenHash(appId), serverUrl: tokenHash(look.deviceUrl) },
  };
}

async function act(step: FleetAppStep, resource: FleetAppResource, facts: FleetAppFacts, look: Look): Promise<void> {
  const { binding } = facts;
  const { uid } = resource;
  if (step.do === 'create') return await create(resource, facts, look);
  if (!binding) return;
  switch (step.do) {
    case 'issue':
      return await issue(resource, binding, facts, look);
    case 'void': {
      const { code, ...after } = binding.record;
      if (!code) return;
      const precondition = look.bindings.precondition(uid, binding, after);
      return await look.boundApps.voidCode(await callerOf(look, binding, precondition), appIdOf(binding), code.hash);
    }
    case 'register':
      return await register(resource, binding, facts, look);
    case 'write':
      return await writeSecret(resource, binding, step.withoutCode ? undefined : 'kept', look);
    case 'note':
      return await look.bindings.save(uid, binding, step.after);
    case 'removeSecret':
      await look.secrets.remove(step.name);
      return await look.bindings.save(uid, binding, step.after);
    case 'revoke':
      await look.apps.revoke(
        await callerOf(look, binding, look.bindings.precondition(uid, binding, step.after)),
        appIdOf(binding),
      );
      return look.notice({ type: 'Normal', reason: 'AppRevoked', note: `The app ${appIdOf(binding)} was revoked.` });
    case 'delete':
      await look.apps.remove(
        await callerOf(look, binding, look.bindings.precondition(uid, binding, undefined)),
        appIdOf(binding),
      );
  }
}

const appIdOf = ({ record }: Binding): string => record.appId ?? '';

const callerOf = async (look: Look, { record }: Binding, precondition: Precondition): Promise<Caller> =>
  await look.caller(record.accountId, precondition);

async function create(
  { uid, kind, namespace, name, generation, spec }: FleetAppResource,
  { binding, account }: FleetAppFacts,
  look: Look,
): Promise<void> {
  if (account.is !== 'ready') return;
  const appId = generateAppId(look.random);
  const accountId = account.account.id;
  const { secretName } = binding?.record ?? {};
  const made: BindingRecord = { kind, namespace, name, accountId, generation, appId };
  const after = secretName === undefined ? made : { ...made, secretName };
  const caller = await look.caller(accountId, look.bindings.precondition(uid, binding, after));
  // A resource's own name may be longer than an app's.
  await look.boundApps.create(caller, appId, spec.name ?? name.slice(0, LIMITS.nameCodePointsMax));
  // Where a code follows, its event tells both.
  if ((spec.enrollment?.issue ?? 'Never') !== 'Never') return;
  look.notice({ type: 'Normal', reason: 'AppCreated', note: `The app ${appId} was created.` });
}

async function issue(
  resource: FleetAppResource,
  binding: Binding,
  { secret }: FleetAppFacts,
  look: Look,
): Promise<void> {
  const code = generateEnrollCode(look.random);
  const before = binding.record.code?.hash;
  // One that is renewed stays good for pods that have begun with it; one that left the Secret may be anywhere.
  const voids = before !== undefined && secret?.digests['enrollCode'] !== before ? { voids: before } : {};
  const pending = { hash: tokenHash(code.reveal()), ...voids };
  await look.bindings.save(resource.uid, binding, { ...binding.record, pending });
  await writeSecret(resource, binding, code, look);
}

/** @param code `kept`: that which the Secret holds; undefined: none */
async function writeSecret(
  { spec }: FleetAppResource,
  binding: Binding,
  code: Secret | 'kept' | undefined,
  look: Look,
): Promise<void> {
  const name = spec.enrollment?.secretRef?.name;
  if (name === undefined) return;
  const held = Object.keys(look.secrets.known(name)?.digests ?? {});
  const strays = held.filter((key) => code !== 'kept' || key !== 'enrollCode').map((key) => [key, undefined] as const);
  await look.secrets.write(name, {
    ...Object.fromEntries(strays),
    appId: appIdOf(binding),
    serverUrl: look.deviceUrl,
    ...(code !== undefined && code !== 'kept' && { enrollCode: code }),
  });
}

async function register(
  { uid, generation, spec }: FleetAppResource,
  binding: Binding,
  { app }: FleetAppFacts,
  look: Look,
): Promise<void> {
  const { pending, ...rest } = binding.record;
  if (!pending || !app) return;
  const origin = look.origin();
  const { hash } = pending;
  const after: BindingRecord = { ...rest, generation, code: { hash, expiresAt: codeExpiry(origin.at) } };
  const tied = await callerOf(look, binding, look.bindings.precondition(uid, binding, after));
  await look.boundApps.registerCode({ ...tied, origin }, appIdOf(binding), pending, app.status);
  const note = `The Secret ${spec.enrollment?.secretRef?.name ?? ''} holds a code for the app ${appIdOf(binding)}.`;
  look.notice({ type: 'Normal', reason: 'CodeIssued', note });
}
