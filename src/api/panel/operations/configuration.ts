import { Secret } from '../../../domain/credentials/secret.ts';
import type { AccountReader } from '../../../domain/fleet/reader.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { StaleRead } from '../../../domain/mutation/stale-read.ts';
import { purgeStateOf } from '../../../domain/otel-config/purge-state.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { isFresh } from '../../../domain/sessions/proof.ts';
import { dateTime } from '../../../time/date-time.ts';
import * as operations from '../../contract/panel/configuration.ts';
import { handle, type PanelServices } from '../request/route.ts';
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
  const { caller, body, accountId, signedIn } = request;
  const { enabled, endpoint = '', authHeader, evidenceLevel, seen } = body;
  const header = authHeader === '' ? 'remove' : authHeader === undefined ? undefined : new Secret(authHeader);
  const { proof } = signedIn.session.record;
  const conditions = {
    isMeant: seen === undefined ? undefined : (tag: string) => tag === seen,
    mayMoveHeader: proof !== undefined && isFresh(proof.at, services.clock.now()),
  };
  try {
    await services.otelConfigs.store(caller, { enabled, endpoint, authHeader: header, evidenceLevel }, conditions);
  } catch (error) {
    if (error instanceof StaleRead) throw new Refusal('changed_meanwhile');
    throw error;
  }
  const reader = await services.fleet.current();
  const account = await reader.account(accountId);
  if (!account) throw new Refusal('not_found');
  return { status: 200, body: await configurationOf(account, services) };
});

/** POST /panel/v1/accounts/{accountId}/otel-config/test. Each of its steps has the time of a request. */
export const testCollector = handle(operations.testCollector, { deadlineMs: LIMITS.collectorTestDeadlineMs })(async (
  request,
  { collectorTests },
) => {
  const { caller, inTime } = request;
  const test = await inTime(collectorTests.begin(caller));
  const result = await test.send();
  const { actor, ...rights } = caller.origin;
  const { at, deadline } = request.originOf(actor);
  await inTime(collectorTests.tell(caller, { actor, ...rights, at, deadline }, result));
  const { outcome, status = null, why: reason = null, says: tlsError = null, revision } = result;
  return { status: 200, body: { outcome, status, reason, tlsError, revision } };
});
