import { codeExpiry } from '../../../domain/apps/app-state.ts';
import type { Caller } from '../../../domain/apps/own-app.ts';
import { generateAppId } from '../../../domain/credentials/random-ids.ts';
import { Secret } from '../../../domain/credentials/secret.ts';
import { generateCredential, generateEnrollCode, tokenHash } from '../../../domain/credentials/tokens.ts';
import { lastSeenAt, type AppEntry } from '../../../domain/fleet/reader.ts';
import { LIMITS } from '../../../domain/limits.ts';
import type { Precondition } from '../../../domain/mutation/authority.ts';
import { mayChangeAs, type Owner } from '../../../domain/resource-bindings/adoption.ts';
import type { Binding } from '../../../domain/resource-bindings/bindings.ts';
import type { BindingRecord } from '../../../domain/records/binding-records.ts';
import type { Kind, ReconcileContext } from '../runtime/kind.ts';
import { fleetApp } from '../schema/fleet-app.ts';
import { CREDENTIAL_KEY, SUPERVISOR_KEY, supervisorSettings, supervisorText } from '../supervisor/supervisor-secret.ts';
import { accountOf, looksForSecret, type AccountState } from './account-ref.ts';
import { causeOfAppStep, decideFleetApp, type FleetAppStep } from './fleet-app-decide.ts';
import type { FleetAppFacts, FleetAppResource } from './fleet-app-facts.ts';
import { settledApp } from './fleet-app-status.ts';

/** The kind FleetApp: an app, and the Secret that its daemon enrolls with. */
export const fleetAppKind = {
  schema: fleetApp,
  gather,
  decide: decideFleetApp,
  failing: (resource, facts, { ready, at }) => settledApp(resource, facts, ready, at),
  causeOf: causeOfAppStep,
  act,
} satisfies Kind<typeof fleetApp.spec, typeof fleetApp.status, FleetAppFacts, FleetAppStep>;

async function gather(resource: FleetAppResource, context: ReconcileContext): Promise<FleetAppFacts> {
  const { uid, spec } = resource;
  const binding = await context.bindings.get(uid);
  const account = await accountOf(context, spec.accountRef.name, binding);
  const candidate = await candidateOf(resource, binding, account, context);
  const { accountId, appId = '' } = binding?.record ?? { accountId: '' };
  const owner = await (await context.fleet.current()).account(accountId);
  const app = await owner?.app(appId);
  if (appId !== '') context.subscribe(accountId, appId);
  const name = spec.enrollment?.secretRef?.name;
  if (name !== undefined && looksForSecret(resource, binding)) await context.secrets.look(name);
  const secret = name === undefined ? undefined : context.secrets.known(name);
  return {
    binding,
    account,
    app: app?.record,
    candidate: candidate?.record,
    // It is asked for whether or not there is such an app: a writer of resources must not find that out.
    namespaceUid: mayAdopt(resource, binding) ? await context.namespaceUid() : undefined,
    seenAt: app && owner ? lastSeenAt(app.record, (await owner.lastSeen()).record) : null,
    secret: secret && { own: secret.own, orphan: secret.orphan, digests: secret.digests },
    isDressed: secret?.isDressed ?? true,
    wanted: {
      appId: tokenHash(appId),
      serverUrl: tokenHash(context.deviceUrl),
      settings: spec.secretFormat === 'opamp' ? supervisorSettings(spec, context) : '',
    },
  };
}

const mayAdopt = ({ spec, deleting }: FleetAppResource, binding: Binding | undefined): boolean =>
  spec.adoptAppId !== undefined && binding?.record.appId === undefined && !deleting;

async function candidateOf(
  resource: FleetAppResource,
  binding: Binding | undefined,
  account: AccountState,
  context: ReconcileContext,
): Promise<AppEntry | undefined> {
  const { adoptAppId } = resource.spec;
  if (adoptAppId === undefined || account.is !== 'ready' || !mayAdopt(resource, binding)) return undefined;
  // The consent is a change of the app.
  context.subscribe(account.account.id, adoptAppId);
  return await account.account.app(adoptAppId);
}

async function act(
  step: FleetAppStep,
  resource: FleetAppResource,
  facts: FleetAppFacts,
  context: ReconcileContext,
): Promise<void> {
  const { binding } = facts;
  const { uid } = resource;
  if (step.do === 'create') return await create(resource, facts, context);
  if (step.do === 'adopt') return await adopt(step.appId, resource, facts, context);
  if (!binding) return;
  switch (step.do) {
    case 'issue':
      return await issue(resource, binding, facts, context);
    case 'void': {
      const { code, ...after } = binding.record;
      if (!code) return;
      const precondition = context.bindings.precondition(uid, binding, after);
      return await context.boundApps.voidCode(
        await callerOf(context, uid, binding, precondition),
        appIdOf(binding),
        code.hash,
      );
    }
    case 'register':
      return await register(resource, binding, facts, context);
    case 'issueCredential':
      return await issueCredential(resource, binding, context);
    case 'enroll':
      return await enroll(resource, binding, facts, context);
    case 'rewrite':
      return await rewrite(resource, binding, context);
    case 'write':
      return await writeSecret(resource, binding, {}, context, step.withoutCode ? undefined : 'enrollCode');
    case 'takeSecret':
      return await context.secrets.takeOver(resource.spec.enrollment?.secretRef?.name ?? '');
    case 'note':
      return await context.bindings.save(uid, binding, step.after);
    case 'dress':
      return await context.secrets.dress(resource.spec.enrollment?.secretRef?.name ?? '');
    case 'removeSecret':
      await context.secrets.remove(step.name);
      return await context.bindings.save(uid, binding, step.after);
    case 'revoke':
      await context.apps.revoke(
        await callerOf(context, uid, binding, context.bindings.precondition(uid, binding, step.after)),
        appIdOf(binding),
      );
      return context.event({ type: 'Normal', reason: 'AppRevoked', note: `The app ${appIdOf(binding)} was revoked.` });
    case 'release': {
      const caller = await callerOf(context, uid, binding, context.bindings.precondition(uid, binding, undefined));
      return await context.boundApps.release(caller, appIdOf(binding), ownerOf(resource));
    }
    case 'delete':
      await context.apps.remove(
        await callerOf(context, uid, binding, context.bindings.precondition(uid, binding, undefined)),
        appIdOf(binding),
      );
  }
}

const appIdOf = ({ record }: Binding): string => record.appId ?? '';

/** The caller of a change of the resource's own app. Between the decision and the commit it may be given to another. */
async function callerOf(
  context: ReconcileContext,
  uid: string,
  { record }: Binding,
  precondition: Precondition,
): Promise<Caller> {
  const caller = await context.caller(record.accountId, precondition);
  return { ...caller, authority: { precondition, mayChange: mayChangeAs(uid) } };
}

const ownerOf = ({ uid, namespace, name }: FleetAppResource): Owner => ({ uid, namespace, name });

/** The caller of a commit after which the resource stands for the app. */
async function binder(
  appId: string,
  accountId: string,
  { uid, kind, namespace, name, generation }: FleetAppResource,
  { binding }: FleetAppFacts,
  context: ReconcileContext,
): Promise<Caller> {
  const { secretName } = binding?.record ?? {};
  const made: BindingRecord = { kind, namespace, name, accountId, generation, appId };
  const after = secretName === undefined ? made : { ...made, secretName };
  return await context.caller(accountId, context.bindings.precondition(uid, binding, after));
}

async function adopt(
  appId: string,
  resource: FleetAppResource,
  facts: FleetAppFacts,
  context: ReconcileContext,
): Promise<void> {
  if (facts.account.is !== 'ready') return;
  const caller = await binder(appId, facts.account.account.id, resource, facts, context);
  const { namespaceUid } = facts;
  await context.boundApps.adopt(caller, appId, {
    ...ownerOf(resource),
    ...(namespaceUid !== undefined && { namespaceUid }),
  });
  context.event({ type: 'Normal', reason: 'AppAdopted', note: `The app ${appId} was adopted.` });
}

async function create(resource: FleetAppResource, facts: FleetAppFacts, context: ReconcileContext): Promise<void> {
  const { name, spec } = resource;
  const { account } = facts;
  if (account.is !== 'ready') return;
  const appId = generateAppId(context.random);
  const caller = await binder(appId, account.account.id, resource, facts, context);
  // A resource's own name may be longer than an app's.
  await context.boundApps.create(caller, appId, spec.name ?? name.slice(0, LIMITS.nameCodePointsMax));
  // The event of a code that follows says that the app exists, too.
  if ((spec.enrollment?.issue ?? 'Never') !== 'Never') return;
  context.event({ type: 'Normal', reason: 'AppCreated', note: `The app ${appId} was created.` });
}

async function issue(
  resource: FleetAppResource,
  binding: Binding,
  { secret }: FleetAppFacts,
  context: ReconcileContext,
): Promise<void> {
  const code = generateEnrollCode(context.random);
  const before = binding.record.code?.hash;
  // A code that is renewed stays valid for pods that have begun with it; one that left the Secret may be anywhere.
  const voids = before !== undefined && secret?.digests['enrollCode'] !== before ? { voids: before } : {};
  const pending = { hash: tokenHash(code.reveal()), ...voids };
  await context.bindings.noteSecret(resource.uid, binding, { ...binding.record, pending });
  await writeSecret(resource, binding, { enrollCode: code }, context);
}

/** Writes the id, the address and these values. @param keeps a key whose value stays as it is; all others go */
async function writeSecret(
  { spec }: FleetAppResource,
  binding: Binding,
  values: Readonly<Record<string, Secret>>,
  context: ReconcileContext,
  keeps?: string,
): Promise<void> {
  const name = spec.enrollment?.secretRef?.name;
  if (name === undefined) return;
  const held = Object.keys(context.secrets.known(name)?.digests ?? {});
  const strays = held.filter((key) => key !== keeps).map((key) => [key, undefined] as const);
  await context.secrets.write(name, {
    ...Object.fromEntries(strays),
    appId: appIdOf(binding),
    serverUrl: context.deviceUrl,
    ...values,
  });
}

async function register(
  { uid, generation, spec }: FleetAppResource,
  binding: Binding,
  { app }: FleetAppFacts,
  context: ReconcileContext,
): Promise<void> {
  const { pending, ...rest } = binding.record;
  if (!pending || !app) return;
  const origin = context.origin();
  const { hash } = pending;
  const after: BindingRecord = { ...rest, generation, code: { hash, expiresAt: codeExpiry(origin.at) } };
  const caller = await callerOf(context, uid, binding, context.bindings.precondition(uid, binding, after));
  await context.boundApps.registerCode({ ...caller, origin }, appIdOf(binding), pending, app.status);
  const note = `The Secret ${spec.enrollment?.secretRef?.name ?? ''} holds a code for the app ${appIdOf(binding)}.`;
  context.event({ type: 'Normal', reason: 'CodeIssued', note });
}

/** The values of a supervisor's Secret, and how the binding knows them again. */
function supervised(credential: Secret, { spec }: FleetAppResource, context: ReconcileContext) {
  const text = supervisorText(spec, context, credential.reveal());
  return {
    values: { [CREDENTIAL_KEY]: credential, [SUPERVISOR_KEY]: new Secret(text) },
    noted: {
      hash: tokenHash(credential.reveal()),
      file: { digest: tokenHash(text), settings: supervisorSettings(spec, context) },
    },
  };
}

async function issueCredential(resource: FleetAppResource, binding: Binding, context: ReconcileContext): Promise<void> {
  const { values, noted } = supervised(generateCredential(context.random), resource, context);
  await context.bindings.noteSecret(resource.uid, binding, { ...binding.record, pending: noted });
  await writeSecret(resource, binding, values, context);
}

async function enroll(
  { uid, generation, spec }: FleetAppResource,
  binding: Binding,
  { app }: FleetAppFacts,
  context: ReconcileContext,
): Promise<void> {
  // A code that was issued before ends with the enrollment (A5).
  const { pending, code: _ended, ...rest } = binding.record;
  if (!pending?.file || !app) return;
  const { hash, file } = pending;
  const after: BindingRecord = { ...rest, generation, credential: { hash, file } };
  const caller = await callerOf(context, uid, binding, context.bindings.precondition(uid, binding, after));
  await context.enrollBound(caller, appIdOf(binding), { hash, before: app });
  const note = `The Secret ${spec.enrollment?.secretRef?.name ?? ''} holds a credential of the app ${appIdOf(binding)}.`;
  context.event({ type: 'Normal', reason: 'CredentialIssued', note });
}

/** Nothing is written where the Secret has lost the credential meanwhile: the next decision sees that. */
async function rewrite(resource: FleetAppResource, binding: Binding, context: ReconcileContext): Promise<void> {
  const name = resource.spec.enrollment?.secretRef?.name;
  const credential = name === undefined ? undefined : await context.secrets.value(name, CREDENTIAL_KEY);
  if (!credential) return;
  const { values, noted } = supervised(credential, resource, context);
  if (noted.hash !== binding.record.credential?.hash) return;
  await writeSecret(resource, binding, values, context);
  await context.bindings.save(resource.uid, binding, { ...binding.record, credential: noted });
}
