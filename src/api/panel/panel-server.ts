import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import type * as z from 'zod';
import type { DeviceRate } from '../../domain/devices/device-rate-limit.ts';
import { Refusal } from '../../domain/refusal.ts';
import { sessionGuard } from '../../domain/sessions/guard.ts';
import type { SignedIn } from '../../domain/sessions/sessions.ts';
import { neededRight, needOf, type Need, type Right } from '../../domain/users/roles.ts';
import { otherDoor } from '../http/errors.ts';
import { Exchange, HttpRefusal, type ExchangeDeps, type Reply } from '../http/exchange.ts';
import { bareExpress, refuseOtherMethods, servedBy, templateFinder } from '../http/express-app.ts';
import { idempotencyKeyOf, queryOf } from '../http/request-headers.ts';
import type { Operation } from '../contract/operation.ts';
import { readEvents } from '../contract/panel/live.ts';
import { readPanelBackup } from '../contract/panel/operator.ts';
import { sendBackup } from '../operator/backup.ts';
import type { LiveHub } from './live/live-hub.ts';
import { sendEvents } from './live/send-events.ts';
import type { Pages } from './pages/pages.ts';
import { REFERENCE_ALIAS, REFERENCE_FILES, REFERENCE_PAGE, REFERENCE_ROUTES, seeOther } from './pages/reference.ts';
import type { ReferenceFiles } from './pages/reference.ts';
import { bodyOf, noBody, readForm } from './request/bodies.ts';
import { browserName } from './request/browser-name.ts';
import { cookieNames, readCookie, type CookieNames } from './request/cookies.ts';
import { refuseUnproved, refuseWithoutSecondFactor, type Proved } from './request/proved.ts';
import { panelIds, type AnyRoute, type OpenRequest, type PanelRequest, type PanelServices } from './request/route.ts';
import { originOf, refuseForeignRead, refuseForeignWrite } from './request/same-origin.ts';
import { OPERATIONS, ROUTES } from './routes.ts';

/** The services and checks that the panel's listener uses. */
export interface PanelDeps extends ExchangeDeps {
  readonly services: PanelServices;
  readonly pages: Pages;
  readonly reference: ReferenceFiles;
  readonly live: LiveHub;
  readonly isTls: boolean;
  /** Guards an account against a user of its own who asks without pause; each replica counts for itself. */
  readonly rate: DeviceRate;
}

interface Locals {
  readonly exchange: Exchange;
  /** The origin by which the browser knows the panel. */
  readonly origin: string;
  readonly cookies: CookieNames;
}
const localsOf = (response: Response): Locals => response.locals as unknown as Locals;
const exchangeOf = (response: Response): Exchange => localsOf(response).exchange;

const ALL_ROUTES = [...OPERATIONS, ...REFERENCE_ROUTES];
const templateOf = templateFinder(ALL_ROUTES);
const isWrite = (method: string): boolean => method !== 'GET' && method !== 'HEAD';

/** Whether a person has asked: a page that reads again by itself, while nobody is at it, keeps no idle session alive. */
const isUse = ({ method, headers }: Request): boolean => isWrite(method) || headers['muster-unattended'] !== '?1';

/**
 * The listener of the panel: its pages, and `/panel/v1` for them. The order of the checks: the host, the page that
 * sends it, the session, the right, the user's rate on the account, the body.
 */
export function createPanelServer(deps: PanelDeps): (request: IncomingMessage, response: ServerResponse) => void {
  const { services, pages } = deps;
  const app = bareExpress();
  app.use(begin);
  app.get(readEvents.path, streamed(readEvents, 'signed-in', events));
  app.get(readPanelBackup.path, streamed(readPanelBackup, 'operator', backup));
  // The body of each is judged by its own schema, which its handler is written for.
  for (const route of ROUTES as readonly unknown[] as readonly AnyRoute<z.core.$ZodShape>[]) {
    app[route.method](route.path, operation(route));
  }
  for (const path of REFERENCE_FILES)
    app.get(
      path,
      forSignedIn((exchange) => deps.reference[path].send(exchange)),
    );
  app.get(
    REFERENCE_ALIAS,
    forSignedIn((exchange) => exchange.reply(seeOther(REFERENCE_PAGE))),
  );
  refuseOtherMethods(app, ALL_ROUTES, exchangeOf);
  app.use((request: Request, response: Response) => {
    const isApi = request.path === '/panel/v1' || request.path.startsWith('/panel/v1/');
    const exchange = exchangeOf(response);
    const other = otherDoor('panel', request.path);
    if (isApi || other !== undefined || !pages.serve(exchange)) exchange.refuse('not_found', other);
  });
  app.use(failed);
  return servedBy(app);

  function begin(request: Request, response: Response, next: NextFunction): void {
    const exchange = new Exchange('panel', request, response, deps);
    exchange.route = templateOf(request.url) ?? exchange.route;
    response.locals['exchange'] = exchange;
    const origin = originOf(request, new URL(services.panel.url), deps.isTls);
    if (origin === undefined) {
      return exchange.refuse('invalid_request', 'The panel is not known by this Host; use its own address.');
    }
    if (origin.startsWith('https:') && !deps.cameByTls(request)) {
      return exchange.refuse('invalid_request', 'The panel is reached by https; the proxy before it must say so.');
    }
    Object.assign(response.locals, { origin, cookies: cookieNames(new URL(origin)) });
    next();
  }

  /** An answer that is no route's: it lasts. */
  function streamed(
    operation: Pick<Operation, 'query'> & Proved,
    need: Need,
    send: (exchange: Exchange, signedIn: SignedIn, query: URLSearchParams) => Promise<void>,
  ) {
    return (request: Request, response: Response): void => {
      const { exchange } = localsOf(response);
      const begun = async (): Promise<void> => {
        refuseForeignRead(request);
        // A browser opens the stream of events again and again by itself: that keeps no idle session alive.
        const counts = operation !== readEvents;
        const { signedIn } = await exchange.inTime(admitted(exchange, localsOf(response), operation, need, counts));
        refuseUnproved(operation, signedIn, {}, services);
        await send(exchange, signedIn, queryOf(request, operation.query));
      };
      begun().catch((error: unknown) => (response.headersSent ? response.destroy() : exchange.fail(error)));
    };
  }

  /** A page or a file of it for whoever is signed in. A browser that opens one is led to the sign-in first. */
  function forSignedIn(send: (exchange: Exchange) => void) {
    return (request: Request, response: Response): void => {
      const { exchange } = localsOf(response);
      const isOpened = request.accepts(['json', 'html']) === 'html';
      exchange.inTime(admitted(exchange, localsOf(response), {}, 'signed-in', true)).then(
        () => send(exchange),
        (error: unknown) => {
          const isStranger = error instanceof Refusal && error.code === 'invalid_session';
          if (isStranger && isOpened) exchange.reply(seeOther('/sign-in'));
          else exchange.fail(error);
        },
      );
    };
  }

  async function events(exchange: Exchange, signedIn: SignedIn, query: URLSearchParams): Promise<void> {
    await exchange.inTime(sendEvents(exchange, signedIn, query, deps.live));
  }

  async function backup(exchange: Exchange, { session, user }: SignedIn, query: URLSearchParams): Promise<void> {
    const guard = sessionGuard(session.id, 'operator');
    const origin = { ...exchange.origin(`user:${user.id}`), guard, asOperator: true };
    await sendBackup(exchange, origin, query, services.backups, 'attachment; filename="muster.backup"');
  }

  function operation<Shape extends z.core.$ZodShape>(route: AnyRoute<Shape>) {
    return (request: Request, response: Response): void => {
      const { exchange } = localsOf(response);
      run(route, request, localsOf(response))
        .then((reply) => exchange.reply(reply))
        .catch((error: unknown) => exchange.fail(error));
    };
  }

  async function run<Shape extends z.core.$ZodShape>(
    route: AnyRoute<Shape>,
    request: Request,
    locals: Locals,
  ): Promise<Reply> {
    const { exchange, origin } = locals;
    const ids = panelIds(request.params);
    if (isWrite(request.method) && route.foreign !== true) refuseForeignWrite(request, origin);
    const open = openRequest(request, locals, ids);
    if (route.access === 'anyone') {
      const body = route.foreign === true ? noBody<Shape>() : await bodyOf(route, exchange);
      const query = queryOf(request, route.query);
      return await inTime(exchange, route, route.handle({ ...open, body, query }, services));
    }
    if (!isWrite(request.method)) refuseForeignRead(request);
    const need = needOf(route.access, ids.accountId);
    const admission = await exchange.inTime(admitted(exchange, locals, route, need, isUse(request)));
    const { signedIn } = admission;
    const body = await bodyOf(route, exchange);
    refuseUnproved(route, signedIn, body, services);
    const query = queryOf(request, route.query);
    const signed = signedInRequest(request, locals, { ...open, body, query }, admission, need);
    const key = idempotencyKeyOf(request, route.idempotency);
    // Each user has keys of his own: what one is shown once, no other gets by guessing a key.
    const idempotencyKey = key === undefined ? undefined : `${signedIn.user.id}:${key}`;
    const reply = await inTime(exchange, route, route.handle({ ...signed, body, query, idempotencyKey }, services));
    if (isWrite(request.method) && ids.accountId !== '') services.watched.forget(ids.accountId);
    return reply;
  }

  /** The session of a request, charged and with the right that it needs. @param counts as a use of the session */
  async function admitted(
    exchange: Exchange,
    locals: Locals,
    operation: Proved,
    need: Need,
    counts: boolean,
  ): Promise<Admitted> {
    const token = readCookie(exchange.request, locals.cookies.session);
    if (token === undefined) throw new Refusal('invalid_session');
    const signedIn = await services.sessions.authenticate(token, counts);
    const { user, reader } = signedIn;
    exchange.authenticated(`user:${user.id}`);
    let right: Right;
    try {
      right = await neededRight(reader, user, need);
    } catch (error) {
      // Else whoever names another account each time would have a rate for each.
      charge(user.id, 'signed-in');
      throw error;
    }
    charge(user.id, need);
    await refuseWithoutSecondFactor(operation, signedIn, services);
    return { signedIn, asOperator: right.isOperator === true };
  }

  function charge(userId: string, need: Need): void {
    const account = typeof need === 'object' ? need.accountId : '';
    const seconds = deps.rate.refuse(`${userId}/${account}`);
    if (seconds !== undefined) throw new HttpRefusal('rate_limited', ['Retry-After', String(seconds)]);
  }

  function openRequest(
    request: Request,
    { exchange, origin, cookies }: Locals,
    ids: ReturnType<typeof panelIds>,
  ): Omit<OpenRequest<unknown>, 'body' | 'query'> {
    const cookie = (name: string): string | undefined => readCookie(request, name);
    return {
      ...ids,
      panelOrigin: origin,
      cookies,
      cookie,
      client: exchange.client,
      browser: browserName(request.headers['user-agent']),
      async optionalSession() {
        const token = cookie(cookies.session);
        if (token === undefined) return undefined;
        try {
          return await services.sessions.authenticate(token);
        } catch (error) {
          if (error instanceof Refusal) return undefined;
          throw error;
        }
      },
      originOf: (actor) => exchange.origin(actor),
      failed: (attempt) => exchange.attempted(attempt),
      userOrigin: ({ session, user }) => ({
        ...exchange.origin(`user:${user.id}`),
        guard: sessionGuard(session.id, 'signed-in'),
      }),
      inTime: (work) => exchange.inTime(work),
      form: () => readForm(exchange),
      request,
    };
  }

  function signedInRequest<Body>(
    request: Request,
    { exchange }: Locals,
    open: OpenRequest<Body>,
    { signedIn, asOperator }: Admitted,
    need: Need,
  ): Omit<PanelRequest<Body>, 'idempotencyKey'> {
    const { session, user, reader } = signedIn;
    const origin = {
      ...exchange.origin(`user:${user.id}`),
      guard: sessionGuard(session.id, need),
      asOperator,
    };
    return {
      ...open,
      signedIn,
      isUse: isUse(request),
      origin,
      caller: { accountId: open.accountId, authority: { guarded: true }, reader, origin },
      accepts: (types) => request.accepts([...types]) || undefined,
      async exporting(what, detail, page) {
        if (request.method !== 'HEAD') await services.auditExport(what, origin, detail, page);
      },
    };
  }

  function failed(error: unknown, _request: Request, response: Response, _next: NextFunction): void {
    if (error instanceof URIError) exchangeOf(response).refuse('not_found');
    else exchangeOf(response).fail(error);
  }
}

const inTime = <Shape extends z.core.$ZodShape>(
  exchange: Exchange,
  { deadlineMs }: AnyRoute<Shape>,
  reply: Promise<Reply> | Reply,
): Promise<Reply> | Reply => (reply instanceof Promise ? exchange.inTime(reply, deadlineMs) : reply);

/** Who has been let in, and by which right. */
interface Admitted {
  readonly signedIn: SignedIn;
  /** The right is an operator's, also on the page of an account. */
  readonly asOperator: boolean;
}
