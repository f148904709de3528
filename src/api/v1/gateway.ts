import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import type * as z from 'zod';
import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { LastUses } from '../../domain/last-uses/last-uses.ts';
import type { Fleet } from '../../domain/fleet/fleet.ts';
import { Refusal } from '../../domain/refusal.ts';
import { APP_ID } from '../contract/fields.ts';
import { otherDoor } from '../http/errors.ts';
import { Exchange, HttpRefusal, type ExchangeDeps, type Reply } from '../http/exchange.ts';
import { bareExpress, pathAndQuery, refuseOtherMethods, templateFinder } from '../http/express-app.ts';
import { readJson } from '../http/json-body.ts';
import { idempotencyKeyOf } from '../http/request-headers.ts';
import { authenticate, type Authenticated } from './authenticate.ts';
import { createApp } from './operations/create-app.ts';
import { deleteApp } from './operations/delete-app.ts';
import { issueEnrollCode } from './operations/issue-enroll-code.ts';
import { listApps } from './operations/list-apps.ts';
import { purgeOtelConfig } from './operations/purge-otel-config.ts';
import { readApp } from './operations/read-app.ts';
import { readOtelConfig } from './operations/read-otel-config.ts';
import { revokeApp } from './operations/revoke-app.ts';
import type { Route, Services } from './operations/route.ts';
import { storeOtelConfig } from './operations/store-otel-config.ts';
import { chargeInTime, type RateLimitDeps } from './rate-limit.ts';
import { RouteTable, type RouteMatch } from './route-table.ts';

/** The services that the gateway uses. */
interface GatewayDeps extends ExchangeDeps, Omit<RateLimitDeps, 'metrics' | 'clock'> {
  readonly fleet: Fleet;
  readonly services: Services;
  readonly keyUses: Pick<LastUses, 'used'>;
  readonly metrics: ExchangeDeps['metrics'] & RateLimitDeps['metrics'];
}

/** The operations of section 4. */
export const ROUTES = [
  createApp,
  listApps,
  readApp,
  issueEnrollCode,
  revokeApp,
  deleteApp,
  readOtelConfig,
  storeOtelConfig,
  purgeOtelConfig,
] as const;

/** The results of the steps before the route. */
interface Locals {
  exchange: Exchange;
  caller: Authenticated;
}
const localsOf = (response: Response): Locals => response.locals as Locals;

type Operate = (exchange: Exchange, caller: Authenticated, appId: string) => void;

const templateOf = templateFinder(ROUTES);

/**
 * The gateway of `/v1`: the order of its steps is the order of the checks (H1). The route is looked up first, so that
 * metrics and log have it for every answer; it is judged after the caller and the account's rate, so that a stranger
 * learns nothing of the routes.
 */
export function createGateway(deps: GatewayDeps): (request: IncomingMessage, response: ServerResponse) => void {
  const app = bareExpress();
  const table = new RouteTable<Operate>();
  for (const route of ROUTES) {
    const operate = operation(route);
    table.add(route, operate);
    app[route.method](route.path, (request: Request<{ appId?: string }>, response: Response) => {
      const { exchange, caller } = localsOf(response);
      operate(exchange, caller, request.params.appId ?? '');
    });
  }
  refuseOtherMethods(app, ROUTES, (response) => localsOf(response).exchange);
  app.use((_request: Request, response: Response) => localsOf(response).exchange.refuse('not_found'));
  app.use(failed);
  return serve;

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const exchange = new Exchange('api', request, response, deps);
    request.url = pathAndQuery(request.url ?? '');
    if (!isUnderV1(request.url)) return exchange.refuse('not_found', otherDoor('api', request.url));
    const found = table.find(request.method ?? '', request.url);
    exchange.route = found?.path ?? templateOf(request.url) ?? exchange.route;
    let admitted: MaybePromise<Authenticated>;
    try {
      admitted = admit(request, exchange);
    } catch (error) {
      return exchange.fail(error);
    }
    if (!(admitted instanceof Promise)) return route(exchange, admitted, found);
    admitted.then(
      (caller) => route(exchange, caller, found),
      (error: unknown) => exchange.fail(error),
    );
  }

  function admit(request: IncomingMessage, exchange: Exchange): MaybePromise<Authenticated> {
    return andThen(exchange.inTimeIfLate(authenticate(request, deps)), (caller) => {
      exchange.authenticated(caller.account.id);
      deps.keyUses.used(caller.account.id, caller.keyId);
      return andThen(chargeInTime(exchange, caller, deps), () => caller);
    });
  }

  /** Nearly all requests spell their target as a template does; Express judges the others. */
  function route(exchange: Exchange, caller: Authenticated, found: RouteMatch<Operate> | undefined): void {
    const { request, response } = exchange;
    if (found) return found.operate(exchange, caller, found.appId);
    app(request, Object.assign(response, { locals: { exchange, caller } satisfies Locals }));
  }

  function operation<Shape extends z.core.$ZodShape>(of: Route<Shape>): Operate {
    return (exchange, caller, appId) => {
      try {
        const reply = run(of, exchange, caller, appId);
        if (!(reply instanceof Promise)) return exchange.reply(reply);
        reply.then((late) => exchange.reply(late)).catch((error: unknown) => exchange.fail(error));
      } catch (error) {
        exchange.fail(error);
      }
    };
  }

  function run<Shape extends z.core.$ZodShape>(
    of: Route<Shape>,
    exchange: Exchange,
    { account, keyId, reader }: Authenticated,
    appId: string,
  ): MaybePromise<Reply> {
    if (of.path.includes(':appId') && !APP_ID.test(appId)) throw new Refusal('not_found');
    if (of.requires && account.record.entitlement !== of.requires) throw new Refusal('enterprise_required');
    return andThen(bodyOf(of, exchange), (body) => {
      const idempotencyKey = idempotencyKeyOf(exchange.request, of.idempotency);
      const caller = { accountId: account.id, authority: { keyId }, reader, origin: exchange.origin(`key:${keyId}`) };
      const { headers } = exchange.request;
      const reply = of.handle({ caller, account, body, appId, idempotencyKey, headers }, deps.services);
      // A read from memory is complete at once; only a call of the store can be late.
      const asksStore = of.method !== 'get' || !reader.atOnce;
      return asksStore ? exchange.inTimeIfLate(reply) : reply;
    });
  }

  /** Express itself throws for a path whose escapes do not decode (H8). */
  function failed(error: unknown, _request: Request, response: Response, _next: NextFunction): void {
    const { exchange } = localsOf(response);
    if (error instanceof URIError) exchange.refuse('not_found');
    else exchange.fail(error);
  }
}

/** H9: any other path of the listener is 404 without a key. */
const isUnderV1 = (url: string): boolean => url === '/v1' || url.startsWith('/v1/') || url.startsWith('/v1?');

function bodyOf<Shape extends z.core.$ZodShape>(
  { body, refuse }: Route<Shape>,
  exchange: Exchange,
): MaybePromise<z.infer<z.ZodObject<Shape>>> {
  // A route without a body never reads it; its handler has no field to read (H6).
  if (!body || !refuse) return {} as z.infer<z.ZodObject<Shape>>;
  // H2: a body that is no object is refused with the code of the first field.
  const [broken] = Object.values<(typeof refuse)[keyof Shape]>(refuse);
  if (broken === undefined) throw new HttpRefusal('upstream_unavailable');
  return readJson(exchange, { body, refuse }, broken);
}
