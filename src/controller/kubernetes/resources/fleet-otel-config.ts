import { Secret } from '../../../domain/credentials/secret.ts';
import type { AccountReader } from '../../../domain/fleet/reader.ts';
import { authHeaderFault } from '../../../domain/otel-config/collector-header.ts';
import type { OtelChange } from '../../../domain/otel-config/otel-config.ts';
import type { OtelRecord } from '../../../domain/records/otel-records.ts';
import { HEADER_ENDPOINT, HEADER_FOR, HEADER_LABEL, type NoHeader } from '../client/header-secret.ts';
import type { KubeObject } from '../client/kube-api.ts';
import type { Kind, ReconcileContext } from '../runtime/kind.ts';
import { accountNameOf } from '../runtime/namespace-cache.ts';
import { fleetOtelConfig } from '../schema/fleet-otel-config.ts';
import { accountOf } from './account-ref.ts';
import {
  bindingOf,
  causeOfOtelStep,
  decideFleetOtelConfig,
  settledOtel,
  type FleetOtelConfigStep,
} from './fleet-otel-config-decide.ts';
import type { FleetOtelConfigFacts, FleetOtelConfigResource, HeaderState } from './fleet-otel-config-facts.ts';

/** The kind FleetOtelConfig: the OpenTelemetry export configuration of an account. */
export const fleetOtelConfigKind = {
  schema: fleetOtelConfig,
  gather,
  decide: decideFleetOtelConfig,
  failing: (resource, facts, { ready }) => settledOtel(resource, facts, [ready]),
  causeOf: causeOfOtelStep,
  act,
} satisfies Kind<typeof fleetOtelConfig.spec, typeof fleetOtelConfig.status, FleetOtelConfigFacts, FleetOtelConfigStep>;

async function gather(resource: FleetOtelConfigResource, context: ReconcileContext): Promise<FleetOtelConfigFacts> {
  const { uid, spec, deleting } = resource;
  const binding = await context.bindings.get(uid);
  const account = await accountOf(context, spec.accountRef.name, binding);
  const accountId = binding?.record.accountId ?? (account.is === 'ready' ? account.account.id : '');
  const owner = await (await context.fleet.current()).account(accountId);
  if (owner) context.subscribe(accountId);
  const header = deleting ? 'none' : await headerOf(resource, context);
  const inForce = owner !== undefined && account.is === 'ready' && owner.record.entitlement === 'enterprise';
  // The tag is read first: what changes after it makes the store refuse the change.
  const seen = owner && (await context.otelConfigs.read(owner));
  const config = (await owner?.otel())?.record.config;
  const first = (await firstOf(context, spec.accountRef.name)) ?? resource.name;
  const { managedBy } = owner?.record ?? {};
  return {
    binding,
    account,
    first,
    header,
    stored: config,
    isHeaderAlone: config !== undefined && header instanceof Secret && isLikeSpec(config, resource),
    seenTag: seen?.tag,
    ours: managedBy === undefined || managedBy.namespace === resource.namespace,
    inSync: owner !== undefined && (await isStored(owner, resource, header, context)),
    rollout:
      inForce && !deleting && config && first === resource.name ? await context.rollouts.of(accountId) : undefined,
    sinceStatusMs: context.sinceStatusMs(),
  };
}

type StoredConfig = NonNullable<OtelRecord['config']>;

/** Whether the stored configuration is that of the spec, whatever its header is. */
const isLikeSpec = (stored: StoredConfig, { spec }: FleetOtelConfigResource): boolean =>
  stored.header !== undefined &&
  stored.enabled === spec.enabled &&
  stored.endpoint === spec.endpoint &&
  stored.evidenceLevel === spec.evidenceLevel;

async function isStored(
  owner: AccountReader,
  resource: FleetOtelConfigResource,
  header: HeaderState,
  context: ReconcileContext,
): Promise<boolean> {
  const change = changeOf(resource, header);
  return change !== undefined && (await context.otelConfigs.holds(owner, change));
}

/** The resource that is in force among those that name the account; before any is, the oldest. */
async function firstOf(context: ReconcileContext, accountName: string): Promise<string | undefined> {
  const age = ({ metadata }: KubeObject): string => `${String(metadata['creationTimestamp'])} ${metadata.uid}`;
  const named = [...context.all('FleetOtelConfig')]
    .filter((object) => accountNameOf(object) === accountName)
    .toSorted((a, b) => (age(a) < age(b) ? -1 : 1));
  if (named.length > 1) {
    for (const { metadata } of named) if (await context.bindings.get(metadata.uid)) return metadata.name;
  }
  return named[0]?.metadata.name;
}

/** A Secret without the label is not told from one that is missing: its writer has not offered it to anybody. */
const NOT_THERE = `is not there, or lacks the label ${HEADER_LABEL}: "true"`;
const HEADER_TROUBLE: Readonly<Record<NoHeader, readonly [reason: string, what: string]>> = {
  NoSecret: ['SecretNotFound', NOT_THERE],
  NotLabelled: ['SecretNotFound', NOT_THERE],
  NotForResource: ['SecretNotFound', `does not name this resource in its annotation ${HEADER_FOR}`],
  NotForEndpoint: ['SecretNotFound', `does not name the origin of the endpoint in its annotation ${HEADER_ENDPOINT}`],
  NoKey: ['SecretKeyNotFound', 'has no such key'],
};

async function headerOf({ spec }: FleetOtelConfigResource, context: ReconcileContext): Promise<HeaderState> {
  const { authHeaderSecretRef: from, endpoint } = spec;
  // Without an endpoint there is nobody to send it to.
  if (!from || endpoint === '') return 'none';
  const value = await context.secrets.header(from.name, from.key, endpoint);
  const unusable = (reason: string, what: string): HeaderState => ({
    reason,
    message: `The Secret ${from.name} (key ${from.key}) ${what}.`,
  });
  if (typeof value === 'string') {
    const [reason, what] = HEADER_TROUBLE[value];
    return unusable(reason, what);
  }
  // Each byte becomes a character: a byte that is not ASCII is refused as such, and no length is hidden.
  const text = Buffer.from(value).toString('latin1');
  if (text === '') return unusable('InvalidAuthHeader', 'is empty');
  const fault = authHeaderFault(text);
  return fault === undefined ? new Secret(text) : unusable('InvalidAuthHeader', `cannot be used: ${fault}`);
}

/** The change that the spec asks for; undefined where its header cannot be had. */
function changeOf({ spec }: FleetOtelConfigResource, header: HeaderState): OtelChange | undefined {
  const { enabled, endpoint, evidenceLevel } = spec;
  if (header === 'none') return { enabled, endpoint, evidenceLevel, authHeader: 'remove' };
  return header instanceof Secret ? { enabled, endpoint, evidenceLevel, authHeader: header } : undefined;
}

/** The change that only ends the export: neither the endpoint nor the header of the spec may be usable. */
const disabling = ({ spec: { evidenceLevel } }: FleetOtelConfigResource): OtelChange => ({
  enabled: false,
  endpoint: '',
  evidenceLevel,
  authHeader: 'remove',
});

/** The change that only lowers the level: whatever else is stored stays. */
const lowering = (
  { spec: { evidenceLevel } }: FleetOtelConfigResource,
  { stored }: FleetOtelConfigFacts,
): OtelChange | undefined =>
  stored && { enabled: stored.enabled, endpoint: stored.endpoint, evidenceLevel, authHeader: undefined };

const changes = {
  store: (resource, { header }) => changeOf(resource, header),
  disable: disabling,
  lower: lowering,
} satisfies Record<string, (resource: FleetOtelConfigResource, facts: FleetOtelConfigFacts) => OtelChange | undefined>;

async function act(
  step: FleetOtelConfigStep,
  resource: FleetOtelConfigResource,
  facts: FleetOtelConfigFacts,
  context: ReconcileContext,
): Promise<void> {
  const { uid } = resource;
  const { binding, account, seenTag } = facts;
  switch (step.do) {
    case 'note':
      return await context.bindings.save(uid, binding, step.after);
    case 'purge': {
      if (!binding) return;
      const { accountId } = binding.record;
      await context.otelConfigs.purge(
        await context.caller(accountId, context.bindings.precondition(uid, binding, undefined)),
      );
      return;
    }
    case 'store':
    case 'disable':
    case 'lower': {
      const change = changes[step.do](resource, facts);
      if (!change || account.is !== 'ready') return;
      const { id } = account.account;
      const after = bindingOf(resource, id);
      // The rest of a spec whose level alone is stored is still to come.
      const generation = step.do === 'lower' ? (binding?.record.generation ?? 0) : after.generation;
      const caller = await context.caller(id, context.bindings.precondition(uid, binding, { ...after, generation }));
      await context.otelConfigs.store(caller, change, { isMeant: (tag) => tag === seenTag });
      context.event({ type: 'Normal', reason: 'ConfigStored', note: 'The configuration was stored for the account.' });
    }
  }
}
