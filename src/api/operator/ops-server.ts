import { createHash, timingSafeEqual } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { NextFunction, Request, Response } from 'express';
import type { Registry } from 'prom-client';
import type * as z from 'zod';
import { SharedRuns } from '../../concurrency/shared-runs.ts';
import type { OperatorToken } from '../../domain/replicas/operator-tokens.ts';
import { readBackup } from '../contract/operator/service.ts';
import { takesGzip } from '../headers/accepted-encoding.ts';
import { NotAuthenticated, otherDoor } from '../http/errors.ts';
import { Exchange, type ExchangeDeps } from '../http/exchange.ts';
import { bareExpress, refuseOtherMethods, servedBy, templateFinder } from '../http/express-app.ts';
import { readJson } from '../http/json-body.ts';
import { bearerOf, idempotencyKeyOf, queryOf } from '../http/request-headers.ts';
import {
  changeAccount,
  changeAccountApp,
  createAccount,
  listAccountApps,
  listAccounts,
  readAccount,
} from './accounts.ts';
import { createApiKey, listApiKeys, revokeApiKey } from './api-keys.ts';
import { verifyAudit, verifyServiceAudit } from './audit-verification.ts';
import { listAudit, listServiceAudit } from './audit.ts';
import { sendBackup } from './backup.ts';
import { CONTENT_TYPES, Exposition, formatOf } from './exposition.ts';
import { readKeys, rotateKeys } from './keys.ts';
import { PUBLIC_PATHS, type PublicFiles } from './public-files.ts';
import { readRateLimits } from './rate-limits.ts';
import { decideReview, listReviewQueue } from './review-queue.ts';
import { readRollout } from './rollout.ts';
import { pathIds, type OperatorRoute, type OperatorServices } from './route.ts';
import { readUsage } from './usage.ts';
import { changeUser, createUser, deleteUser, listUserApiKeys, listUsers, resetUser } from './users.ts';

/** The services and checks that the ops listener uses. */
interface OpsDeps extends ExchangeDeps {
  /**
   * The tokens that are valid at present, as another list whenever they change: the old and the new token both work while
   * they are changed.
   */
  readonly operatorTokens: () => readonly OperatorToken[];
  readonly registry: Registry;
  /** Tells in words why the replica must not serve; undefined when it is ready. */
  readonly unready: () => string | undefined;
  /** Tells in words what is wrong although the replica serves; undefined when nothing is. */
  readonly degraded: () => string | undefined;
  readonly services: OperatorServices;
  readonly publicFiles: PublicFiles;
}

/** The operations of `/operator/v1`. */
export const ROUTES = [
  createAccount,
  listAccounts,
  readAccount,
  changeAccount,
  listAccountApps,
  changeAccountApp,
  createApiKey,
  listApiKeys,
  revokeApiKey,
  listAudit,
  verifyAudit,
  listServiceAudit,
  verifyServiceAudit,
  readRollout,
  listReviewQueue,
  decideReview,
  readKeys,
  rotateKeys,
  readUsage,
  readRateLimits,
  createUser,
  listUsers,
  changeUser,
  deleteUser,
  listUserApiKeys,
  resetUser,
] as const;

/** All that the operator API has: a backup is streamed, and is no route like the others. */
export const OPERATIONS = [...ROUTES, readBackup] as const;

export const PROBES = [
  { method: 'get', path: '/livez' },
  { method: 'get', path: '/readyz' },
  { method: 'get', path: '/metrics' },
] as const;

/** The files that are served without a credential, beside the probes. */
export const PUBLIC = PUBLIC_PATHS.map((path) => ({ method: 'get', path }) as const);

const ALL_ROUTES = [...PROBES, ...PUBLIC, ...OPERATIONS];
const templateOf = templateFinder(ALL_ROUTES);

const exchangeOf = (response: Response): Exchange => (response.locals as { exchange: Exchange }).exchange;

/** The listener for the platform team: probes and metrics for machines, `/operator/v1` for the operator's token. */
export function createOpsServer(deps: OpsDeps): ReturnType<typeof servedBy> {
  const app = bareExpress();
  const actorOf = operatorCheck(deps.operatorTokens);
  const renderings = new SharedRuns(() => rendered(deps.registry), pauseAfterRendering);
  app.use(begin);
  app.get('/livez', liveness);
  app.get('/readyz', readiness);
  app.get('/metrics', metrics);
  for (const { path } of PUBLIC) {
    app.get(path, (_request: Request, response: Response) => deps.publicFiles[path].send(exchangeOf(response)));
  }
  app.use(authenticateOperator);
  app.get(readBackup.path, backup);
  for (const route of ROUTES) app[route.method](route.path, operation(route));
  refuseOtherMethods(app, ALL_ROUTES, exchangeOf);
  app.use(({ path }: Request, response: Response) => exchangeOf(response).refuse('not_found', otherDoor('ops', path)));
  app.use(failed);
  return servedBy(app);

  function begin(request: Request, response: Response, next: NextFunction): void {
    const exchange = new Exchange('ops', request, response, deps);
    exchange.route = templateOf(request.url) ?? exchange.route;
    response.locals['exchange'] = exchange;
    next();
  }

  function liveness(_request: Request, response: Response): void {
    const exchange = exchangeOf(response);
    exchange.reply({ status: 200, body: { status: 'ok' } });
  }

  function readiness(_request: Request, response: Response): void {
    const reason = deps.unready();
    const exchange = exchangeOf(response);
    // This is not an error of the API but the response to a probe, read by a kubelet or a load balancer.
    const degraded = deps.degraded();
    const body = { status: 'ready', ...(degraded !== undefined && { degraded }) };
    if (reason === undefined) exchange.reply({ status: 200, body });
    else exchange.reply({ status: 503, body: { status: 'not ready', reason } });
  }

  function metrics(request: Request, response: Response): void {
    const exchange = exchangeOf(response);
    const format = formatOf(request.headers.accept);
    const compressed = takesGzip(request);
    const headers = ['Content-Type', CONTENT_TYPES[format], 'Vary', 'Accept, Accept-Encoding'];
    if (compressed) headers.push('Content-Encoding', 'gzip');
    renderings
      .run()
      .then((all) => (compressed ? all.compressed(format) : all.body(format)))
      .then((body) => exchange.reply({ status: 200, body, headers }))
      .catch((error: unknown) => exchange.fail(error));
  }

  function authenticateOperator(request: Request, response: Response, next: NextFunction): void {
    const { path } = request;
    if (path !== '/operator/v1' && !path.startsWith('/operator/v1/')) return next();
    const exchange = exchangeOf(response);
    const { token } = bearerOf(request);
    const actor = actorOf(token);
    if (actor === undefined) {
      const reason = token === undefined ? 'malformed' : 'wrong_secret';
      return exchange.fail(new NotAuthenticated('invalid_token', { credential: 'operator_token', reason }));
    }
    response.locals['actor'] = actor;
    exchange.authenticated(actor);
    next();
  }

  function backup(request: Request, response: Response): void {
    const exchange = exchangeOf(response);
    exchange.route = readBackup.path;
    const origin = exchange.origin(actorIn(response));
    sendBackup(exchange, origin, queryOf(request, readBackup.query), deps.services.backups).catch((error: unknown) =>
      exchange.fail(error),
    );
  }

  function operation<Shape extends z.core.$ZodShape>(route: OperatorRoute<Shape>) {
    return (request: Request, response: Response): void => {
      const exchange = exchangeOf(response);
      run(route, request, exchange, actorIn(response))
        .then((reply) => exchange.reply(reply))
        .catch((error: unknown) => exchange.fail(error));
    };
  }

  async function run<Shape extends z.core.$ZodShape>(
    route: OperatorRoute<Shape>,
    request: Request,
    exchange: Exchange,
    actor: string,
  ) {
    const ids = pathIds(request.params);
    const body = await bodyOf(route, exchange);
    const query = queryOf(request, route.query);
    const reply = route.handle(
      {
        origin: exchange.origin(actor),
        body,
        ...ids,
        query,
        idempotencyKey: idempotencyKeyOf(request, route.idempotency),
        accepts: (types) => request.accepts([...types]) || undefined,
        exporting: async (what, detail, page) => {
          if (request.method === 'HEAD') return;
          await deps.services.auditExport(what, exchange.origin(actor), detail, page);
        },
        inTime: (work) => exchange.inTime(work),
      },
      deps.services,
    );
    return reply instanceof Promise ? await exchange.inTime(reply, route.deadlineMs) : reply;
  }

  function failed(error: unknown, _request: Request, response: Response, _next: NextFunction): void {
    if (error instanceof URIError) exchangeOf(response).refuse('not_found');
    else exchangeOf(response).fail(error);
  }
}

async function bodyOf<Shape extends z.core.$ZodShape>(
  { body }: OperatorRoute<Shape>,
  exchange: Exchange,
): Promise<z.infer<z.ZodObject<Shape>>> {
  if (!body) return {} as z.infer<z.ZodObject<Shape>>;
  return await readJson(exchange, { body, refuse: 'invalid_request' }, 'invalid_request');
}

/**
 * A rendering keeps the event loop for tens of milliseconds, and no token is asked for it: scrapes without end get a
 * fifth of its time. One that comes after the pause is served at once.
 */
const pauseAfterRendering = (ranMs: number): Promise<unknown> =>
  pause(Math.min(1000, 4 * ranMs), undefined, { ref: false });

/** One rendering for all who wait for it, however slowly each takes it. */
const rendered = async (registry: Registry): Promise<Exposition> => new Exposition(await registry.metrics());

/**
 * Compares digests, which have one length whatever was sent, in constant time and with every token.
 * @returns the actor that a token stands for, as the audit names it; undefined for a wrong one
 */
function operatorCheck(tokens: () => readonly OperatorToken[]): (token: string | undefined) => string | undefined {
  const digest = (token: string): Buffer => createHash('sha256').update(token).digest();
  const digestsOf = (list: readonly OperatorToken[]) =>
    list.map(({ name, secret }) => ({
      actor: name === undefined ? 'operator' : `operator:${name}`,
      known: digest(secret.reveal()),
    }));
  let list = tokens();
  let valid = digestsOf(list);
  return (token) => {
    const present = tokens();
    if (present !== list) [list, valid] = [present, digestsOf(present)];
    const given = digest(token ?? '');
    const matches = valid.map(({ known }) => timingSafeEqual(known, given));
    return token === undefined ? undefined : valid[matches.indexOf(true)]?.actor;
  };
}

/** Who acts; set once the operator's token was found to be right. */
const actorIn = (response: Response): string => (response.locals as { actor: string }).actor;
