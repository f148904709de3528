import { userOfActor } from '../../../domain/records/audit-records.ts';
import { Secret } from '../../../domain/credentials/secret.ts';
import type { AccountReader } from '../../../domain/fleet/reader.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { StaleRead } from '../../../domain/mutation/stale-read.ts';
import type { StoreConditions } from '../../../domain/otel-config/otel-config.ts';
import { purgeStateOf } from '../../../domain/otel-config/purge-state.ts';
import { keptRevisions, type KeptRevision } from '../../../domain/otel-config/revisions.ts';
import { rolloutCounts, staleAfterMs, type RolloutCounts } from '../../../domain/rollouts/rollout.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { isFresh } from '../../../domain/sessions/proof.ts';
import { dateTime } from '../../../time/date-time.ts';
import * as operations from '../../contract/panel/configuration.ts';
import { BEYOND } from '../admission/admit-token.ts';
import { handle, handleInSession, type PanelRequest, type PanelServices } from '../request/route.ts';
import { accountOf } from './account.ts';

async function configurationOf(
  account: AccountReader,
  { otelConfigs, store }: PanelServices,
): Promise<operations.Configuration> {
  const otel = (await account.otel())?.record;
  const { entitlement } = account.record;
  const apps = await account.apps();
  const { config, tag } = await otelConfigs.read(account);
  return {
    ...config,
    entitlement,
    revision: otel?.revision ?? 0,
    tag,
    changedAt: otel ? dateTime(otel.at) : null,
    devices: apps.filter(({ status, connection }) => status === 'active' && connection === 'cloud').length,
    purge: await purgeStateOf(store, otel),
  };
}

/** GET /panel/v1/accounts/{accountId}/otel-config. */
export const readConfiguration = handle(operations.readConfiguration)(async (request, services) => ({
  status: 200,
  body: await configurationOf(await accountOf(request), services),
}));

/**
 * PUT /panel/v1/accounts/{accountId}/otel-config: not over a change that the user has not seen, and without a fresh
 * proof to no other address for a header that the request does not have.
 */
export const storeConfiguration = handle(operations.storeConfiguration)(async (request, services) => {
  const { enabled, endpoint = '', authHeader, evidenceLevel, seen } = request.body;
  const change = { enabled, endpoint, authHeader: headerOf(authHeader), evidenceLevel };
  return await changed(request, services, seen, (conditions) =>
    services.otelConfigs.store(request.caller, change, conditions),
  );
});

/** POST /panel/v1/accounts/{accountId}/otel-config/restore: under the conditions of a change. */
export const restoreConfiguration = handle(operations.restoreConfiguration)(async (request, services) => {
  const { revision, authHeader, keepHeader, seen } = request.body;
  const restoration = {
    revision,
    authHeader: headerOf(authHeader) ?? (keepHeader === true ? 'keep' : undefined),
  } as const;
  return await changed(request, services, seen, (conditions) =>
    services.otelConfigs.restore(request.caller, restoration, conditions),
  );
});

const headerOf = (authHeader: string | undefined): Secret | 'remove' | undefined =>
  authHeader === '' ? 'remove' : authHeader === undefined ? undefined : new Secret(authHeader);

/** Makes a change unless the user has not seen what is there, and answers the configuration after it. */
async function changed(
  { accountId, inSession }: PanelRequest<unknown>,
  services: PanelServices,
  seen: string | undefined,
  change: (conditions: StoreConditions) => Promise<unknown>,
): Promise<{ status: 200; body: operations.Configuration }> {
  const proof = inSession?.signedIn.session.record.proof;
  try {
    await change({
      isMeant: seen === undefined ? undefined : (tag) => tag === seen,
      mayMoveHeader: proof !== undefined && isFresh(proof.at, services.clock.now()),
    });
  } catch (error) {
    if (error instanceof StaleRead) throw new Refusal('changed_meanwhile');
    if (!inSession && error instanceof Refusal && error.code === 'proof_required')
      throw new Refusal('forbidden', BEYOND);
    throw error;
  }
  const reader = await services.fleet.current();
  const account = await reader.account(accountId);
  if (!account) throw new Refusal('not_found');
  return { status: 200, body: await configurationOf(account, services) };
}

/** GET /panel/v1/accounts/{accountId}/otel-config/revisions. */
export const listConfigurationRevisions = handle(operations.listConfigurationRevisions)(async (request, services) => {
  const account = await accountOf(request);
  const { store, clock, pollIntervalSeconds } = services;
  const otel = (await account.otel())?.record;
  const kept = await keptRevisions(store, account.id, otel);
  const facts = { now: clock.now(), staleAfterMs: staleAfterMs(pollIntervalSeconds) };
  const isCurrent = ({ revision }: KeptRevision): boolean => revision === otel?.revision;
  const current = kept.some(isCurrent) ? await rolloutCounts(store, account, facts) : undefined;
  const revisions = kept.map((one) => revisionBody(one, isCurrent(one) ? current : one.rollout));
  return { status: 200, body: { revisions } };
});

function revisionBody(
  { revision, at, by, enabled, endpoint, authHeaderSet, evidenceLevel, restores }: KeptRevision,
  rollout: RolloutCounts | undefined,
): operations.ConfigurationRevision {
  return {
    revision,
    at: dateTime(at),
    by: authorOf(by),
    enabled,
    endpoint,
    authHeaderSet,
    evidenceLevel,
    restores: restores ?? null,
    rollout: rollout ? countsOf(rollout) : null,
  };
}

const countsOf = ({ applied, failed, pending, stale }: RolloutCounts): RolloutCounts => ({
  applied,
  failed,
  pending,
  stale,
});

function authorOf({ actor, name = '' }: KeptRevision['by']): operations.ConfigurationRevision['by'] {
  const userId = userOfActor(actor);
  if (userId !== undefined) return { kind: 'user', id: userId, name };
  const [, kind = '', id = ''] = /^([a-z]+)(?::(.*))?$/s.exec(actor) ?? [];
  switch (kind) {
    case 'key':
    case 'operator':
    case 'kubernetes':
      return { kind, id, name };
    default:
      return { kind: 'muster', id, name };
  }
}

/** POST /panel/v1/accounts/{accountId}/otel-config/test. Each of its steps has the time of a request. */
export const testCollector = handleInSession(operations.testCollector, { deadlineMs: LIMITS.collectorTestDeadlineMs })(
  async (request, { collectorTests }) => {
    const { caller, inTime } = request;
    const test = await inTime(collectorTests.begin(caller));
    const result = await test.send();
    const { actor, ...rights } = caller.origin;
    const { at, deadline } = request.originOf(actor);
    await inTime(collectorTests.tell(caller, { actor, ...rights, at, deadline }, result));
    const { outcome, status = null, why: reason = null, says: tlsError = null, revision } = result;
    return { status: 200, body: { outcome, status, reason, tlsError, revision } };
  },
);
