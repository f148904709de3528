import type { RequestListener } from 'node:http';
import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { LastUses } from '../../domain/last-uses/last-uses.ts';
import type { Fleet } from '../../domain/fleet/fleet.ts';
import { refuseBeyond } from '../../domain/key-validity/key-restriction.ts';
import { Refusal } from '../../domain/refusal.ts';
import { otherListener } from '../http/other-listener.ts';
import type { Exchange, ExchangeDeps } from '../http/exchange.ts';
import type { Operation } from '../contract/operation.ts';
import { operationEndpoint, type AuthorizeRequest, type Checks } from '../serve/operation-endpoint.ts';
import { createRequestListener } from '../serve/request-listener.ts';
import { isUnder } from '../serve/targets.ts';
import { authenticate, type Authenticated } from './authenticate.ts';
import { APPS } from './operations/apps.ts';
import { OTEL_CONFIG } from './operations/otel-config.ts';
import type { Services, V1Call } from './operations/route.ts';
import { chargeInTime, type RateLimitDeps } from './rate-limit.ts';

/** The services that the gateway uses. */
interface GatewayDeps extends ExchangeDeps, Omit<RateLimitDeps, 'metrics' | 'clock'> {
  readonly fleet: Fleet;
  readonly services: Services;
  readonly keyUses: Pick<LastUses, 'used'>;
  readonly metrics: ExchangeDeps['metrics'] & RateLimitDeps['metrics'];
}

/** The operations of section 4. */
export const ROUTES = [...APPS, ...OTEL_CONFIG];

/**
 * The gateway of `/v1`. The order of the checks is that of H1: the key, the account's rate, the route, the entitlement,
 * the body.
 */
export function createGateway(deps: GatewayDeps): RequestListener {
  const checks: Checks<Authenticated, V1Call, Services> = { authorize, services: deps.services };
  return createRequestListener(
    { name: 'api', beforeRouting, endpoints: ROUTES.map((route) => operationEndpoint(route, checks)) },
    deps,
  );

  function beforeRouting(exchange: Exchange): MaybePromise<Authenticated> {
    const { request } = exchange;
    // H9: any other path of the listener is 404 without a key.
    if (!isUnder('/v1', request)) throw new Refusal('not_found', otherListener('api', request.url ?? ''));
    return andThen(exchange.inTimeIfLate(authenticate(request, deps)), (caller) => {
      exchange.authenticated(caller.account.id);
      deps.keyUses.used(caller.account.id, caller.keyId);
      return andThen(chargeInTime(exchange, caller, deps), () => caller);
    });
  }
}

function authorize(
  { exchange, context: { account, keyId, key, secret, reader } }: AuthorizeRequest<Authenticated>,
  { requires, keyUse }: Pick<Operation, 'requires' | 'keyUse'>,
): () => V1Call {
  const { client } = exchange;
  const use = keyUse ?? 'full';
  const accountId = account.id;
  refuseBeyond(key, { use, client }, () =>
    exchange.attempted({ credential: 'api_key', reason: 'other_address', accountId, keyId }),
  );
  if (requires && account.record.entitlement !== requires) throw new Refusal('enterprise_required');
  return () => ({
    account,
    caller: {
      accountId,
      authority: { keyId, secret, use, client },
      reader,
      origin: exchange.origin(`key:${keyId}`),
    },
    headers: exchange.request.headers,
  });
}
