import { Refusal } from '../../../domain/refusal.ts';
import { liveSession, sessionGuard } from '../../../domain/sessions/guard.ts';
import type { SignedIn } from '../../../domain/sessions/sessions.ts';
import { BeyondRole } from '../../../domain/access-audit/role-refusals.ts';
import { installationRight, neededRight, needOf, type Need, type Right } from '../../../domain/users/roles.ts';
import type { Method, PanelAccess, PanelRight, RoleRights } from '../../contract/operation.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { AuthorizeRequest } from '../../serve/operation-endpoint.ts';
import { refuseBeyondRole, rolesOpenTo } from '../../serve/role-rights.ts';
import type { RouteOptions } from '../../serve/route.ts';
import { callByRight, openCall, type PanelContext } from './open-call.ts';
import { charge, chargeFor, type PanelRates } from './rates.ts';
import { readCookie } from '../request/cookies.ts';
import { refuseUnproved, refuseWithoutSecondFactor, type Proved } from '../request/proved.ts';
import type { OpenCall, PanelCall, PanelServices } from '../request/route.ts';
import { refuseForeignRead, refuseForeignWrite } from '../request/same-origin.ts';

/* The checks of the panel's operations: the page that sends a request, its session, the right, the user's rate. */

/** The services and bounds of admission. */
export interface AdmissionDeps {
  readonly services: PanelServices;
  readonly rates: PanelRates;
}

/** An operation, as its requests are judged. */
interface Judged extends Proved, RouteOptions {
  readonly method: Method;
  readonly access?: PanelAccess;
  readonly roles?: RoleRights;
}

/**
 * Admits a request for an operation that is open to anyone.
 * @throws Refusal `forbidden`, `invalid_request`
 */
export function admitAnyone(
  { services }: AdmissionDeps,
  { exchange, context }: AuthorizeRequest<PanelContext>,
  operation: Judged,
): () => OpenCall {
  refuseForeign(exchange, context, operation);
  return () => openCall(exchange, context, services);
}

/**
 * Admits a request for an operation that needs a session; the fresh proof is asked for once its body is there.
 * @throws Refusal `forbidden`, `invalid_request`, `invalid_session`, `not_found`, `second_factor_required`; HttpRefusal
 *   `rate_limited`; StoreUnavailable
 */
export async function admitSignedIn(
  deps: AdmissionDeps,
  { exchange, context, ids: { accountId } }: AuthorizeRequest<PanelContext>,
  operation: Judged,
): Promise<(body: object) => PanelCall> {
  const { services } = deps;
  refuseForeign(exchange, context, operation);
  if (operation.method === 'get') refuseForeignRead(exchange.request);
  const needFor = (body?: object): Need =>
    needOf(signedInAccess(operation), accountId, rolesOpenTo(operation.roles, body));
  const need = needFor();
  const isUse = operation.unattended !== true && isAsked(operation, exchange);
  const { signedIn, right } = await exchange.inTime(admitted(deps, exchange, context, { operation, need, isUse }));
  return (body) => {
    refuseBodyBeyondRole(right, operation, body);
    refuseUnproved(operation, signedIn, body, services);
    const { session, user, reader } = signedIn;
    // Whichever role the user has by the time of the commit must be one to which this very body is open.
    const guard = sessionGuard(session.id, needFor(body));
    const { installationRole } = right;
    const asOperator =
      installationRole === 'operator' || (installationRole !== undefined && operation.method !== 'get');
    const origin = { ...exchange.origin(`user:${user.id}`), guard, asOperator };
    return {
      ...callByRight(exchange, services, { origin, reader, accountId }),
      inSession: { ...openCall(exchange, context, services), signedIn, isUse },
      scope: user.id,
      readAs: `${user.id} ${installationRole ?? right.role ?? ''}`,
      chargeChange: () => charge(deps.rates.changes, `${user.id}/${chargedAccount(need)}`),
      async judgeAgain() {
        const current = await services.fleet.current();
        const live = { reader: current, ...(await liveSession(current, session.id)) };
        await neededRight(current, live.user, needFor(body));
        await refuseWithoutSecondFactor(operation, live, services);
      },
    };
  };
}

/** A page or a file of it, which is read. */
const PAGE: Judged = { method: 'get' };

/** Admits a request for a page or a file that is for any signed-in user. @throws as `admitSignedIn` */
export async function admitReader(deps: AdmissionDeps, exchange: Exchange, context: PanelContext): Promise<void> {
  await exchange.inTime(admitted(deps, exchange, context, { operation: PAGE, need: 'signed-in', isUse: true }));
}

function refuseForeign({ request }: Exchange, { origin }: PanelContext, { method, foreign }: Judged): void {
  if (method !== 'get' && foreign !== true) refuseForeignWrite(request, origin);
}

/** Only an operation that says so is open to anyone. */
const signedInAccess = ({ access = 'operator' }: Judged): PanelRight => (access === 'anyone' ? 'operator' : access);

/**
 * Tells whether a person has asked: a page that reads again by itself, while nobody is at it, keeps no idle session
 * alive.
 */
const isAsked = ({ method }: Judged, { request }: Exchange): boolean =>
  method !== 'get' || request.headers['muster-unattended'] !== '?1';

interface Admission {
  readonly operation: Judged;
  readonly need: Need;
  /** Whether it counts as a use of the session. */
  readonly isUse: boolean;
}

/** The session of a request, charged and with the right that it needs. */
async function admitted(
  { services, rates }: AdmissionDeps,
  exchange: Exchange,
  { cookies }: PanelContext,
  { operation, need, isUse }: Admission,
): Promise<{ readonly signedIn: SignedIn; readonly right: Right }> {
  const token = readCookie(exchange.request, cookies.session);
  if (token === undefined) throw new Refusal('invalid_session');
  const signedIn = await services.sessions.authenticate(token, isUse);
  const { user, reader } = signedIn;
  exchange.authenticated(`user:${user.id}`);
  let right: Right;
  try {
    right = await neededRight(reader, user, need);
  } catch (error) {
    // A user who names another account each time would otherwise have a rate for each.
    charge(rates.changes, `${user.id}/`);
    throw error instanceof BeyondRole ? await inWords(error, signedIn, operation) : error;
  }
  chargeFor(rates, operation, { reader: signedIn.session.id, userId: user.id, accountId: chargedAccount(need) });
  await refuseWithoutSecondFactor(operation, signedIn, services);
  return { signedIn, right };
}

/** A role on the installation that does not include the operation is told which one does, as its token is. */
async function inWords(error: BeyondRole, { reader, user }: SignedIn, { roles }: Judged): Promise<unknown> {
  const role = error.says === undefined ? (await installationRight(reader, user))?.installationRole : undefined;
  if (role === undefined) return error;
  try {
    refuseBeyondRole({ role, by: 'person' }, roles);
    return error;
  } catch (worded) {
    return worded;
  }
}

/** A restricted role may have some fields of the body alone. @throws BeyondRole */
function refuseBodyBeyondRole({ installationRole: role }: Right, { roles }: Judged, body: object): void {
  if (role !== undefined) refuseBeyondRole({ role, by: 'person' }, roles)(body);
}

/** A user has a rate in each account, and one in none, which the operations of operators have. */
const chargedAccount = (need: Need): string =>
  typeof need === 'object' && need.role !== 'operator' ? need.accountId : '';
