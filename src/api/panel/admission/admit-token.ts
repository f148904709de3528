import {
  liveToken,
  tokenGuard,
  tokenRight,
  type LiveToken,
  type TokenNeed,
  type TokenRight,
} from '../../../domain/access-tokens/token-guard.ts';
import type { AccessTokenEntry, FleetReader } from '../../../domain/fleet/reader.ts';
import { actorOfToken } from '../../../domain/records/audit-records.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Operation } from '../../contract/operation.ts';
import { isForTokens } from '../../contract/panel/access-tokens/reach.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { AuthorizeRequest } from '../../serve/operation-endpoint.ts';
import type { RouteOptions } from '../../serve/route.ts';
import type { AdmissionDeps } from './admission.ts';
import { callByRight, type PanelContext } from './open-call.ts';
import { charge, chargeFor } from './rates.ts';
import type { PanelCall } from '../request/route.ts';
import { authenticateToken } from './authenticate-token.ts';

/*
 * The checks of a request with an access token (docs/adr/0082-access-tokens.md). Nothing that a browser sends by itself
 * counts: neither cookies, nor the page that it comes from. There is no session, so none is idle, and none is proved.
 */

type Judged = Pick<Operation, 'method' | 'access' | 'freshProof'> & RouteOptions;

/** The words of the refusal of what only a person does. */
export const BEYOND = 'An access token does not do this: sign in to the panel.';

/**
 * Refuses an access token where none is let in, after it was judged itself.
 * @throws Refusal `forbidden`; NotAuthenticated `invalid_token`; HttpRefusal `rate_limited`; StoreUnavailable
 */
export async function refuseToken(deps: AdmissionDeps, exchange: Exchange): Promise<never> {
  const { token } = await exchange.inTime(authenticated(deps, exchange));
  chargeVain(deps, token);
  throw new Refusal('forbidden', BEYOND);
}

/**
 * Admits a request with an access token.
 * @throws NotAuthenticated `invalid_token`; Refusal `forbidden`, `not_found`; HttpRefusal `rate_limited`;
 *   StoreUnavailable
 */
export async function admitToken(
  deps: AdmissionDeps,
  { exchange, ids: { accountId } }: AuthorizeRequest<PanelContext>,
  operation: Judged,
): Promise<() => PanelCall> {
  const { services, rates } = deps;
  const { live, reader, need, right } = await exchange.inTime(admitted(deps, exchange, operation, accountId));
  const { token, user } = live;
  return () => {
    const guard = tokenGuard(token.id, need);
    const origin = {
      ...exchange.origin(actorOfToken(user.id, token.id)),
      guard,
      asOperator: right.installationRole !== undefined,
    };
    return {
      ...callByRight(exchange, services, { origin, reader, accountId }),
      inSession: undefined,
      scope: token.id,
      readAs: `${token.id} ${right.role}`,
      chargeChange: () => charge(rates.changes, `${user.id}/${accountId}`),
      async judgeAgain() {
        const current = await services.fleet.current();
        await tokenRight(current, await liveToken(current, token.id), need);
      },
    };
  };
}

interface Admitted {
  readonly live: LiveToken;
  readonly reader: FleetReader;
  readonly need: TokenNeed;
  readonly right: TokenRight;
}

async function admitted(
  deps: AdmissionDeps,
  exchange: Exchange,
  operation: Judged,
  accountId: string,
): Promise<Admitted> {
  const { rates } = deps;
  const { reader, ...live } = await authenticated(deps, exchange);
  const { token, user } = live;
  const need: TokenNeed = { accountId, role: operation.access === 'viewer' ? 'viewer' : 'owner' };
  let right: TokenRight;
  try {
    if (!isForTokens(operation)) throw new Refusal('forbidden', BEYOND);
    right = await tokenRight(reader, live, need);
  } catch (error) {
    chargeVain(deps, token);
    throw error;
  }
  chargeFor(rates, operation, { reader: token.id, userId: user.id, accountId });
  return { live, reader, need, right };
}

/**
 * Charges a request without a right. Those of a program use up no rate of its person.
 * @throws HttpRefusal `rate_limited`
 */
const chargeVain = ({ rates }: AdmissionDeps, { id }: AccessTokenEntry): void => charge(rates.changes, `${id}/`);

async function authenticated(
  { services }: AdmissionDeps,
  exchange: Exchange,
): Promise<LiveToken & { readonly reader: FleetReader }> {
  const found = await authenticateToken(exchange.request, services);
  exchange.authenticated(`user:${found.user.id}`);
  services.accessTokens.used(found.token);
  return found;
}
