import type { RequestListener } from 'node:http';
import express, { type NextFunction, type Request, type Response, type Router } from 'express';
import { andThen, catching, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { Method } from '../contract/operation.ts';
import type { ListenerName } from '../../config/listeners.ts';
import { otherListener } from '../http/other-listener.ts';
import { Exchange, type ExchangeDeps } from '../http/exchange.ts';
import { pathAndQuery, templateFinder } from './targets.ts';

/** A request that has passed the first check of its routes. */
export interface EndpointRequest<Context> {
  readonly exchange: Exchange;
  /** The result of that check. */
  readonly context: Context;
  /** The parameters in its path. */
  readonly parameters: Readonly<Record<string, string | string[]>>;
}

/** An operation, a probe or a file at a method and a path. */
export interface Endpoint<Context> {
  readonly method: Method;
  readonly path: string;
  /** Sends the answer. @throws whatever `Exchange.fail` answers */
  readonly answer: (request: EndpointRequest<Context>) => MaybePromise<void>;
}

/** The routes of a listener: its first check, and what it serves. */
export interface ListenerRoutes<Context> {
  readonly name: ListenerName;
  /**
   * Judges each request before its route is looked for: a stranger learns nothing of the routes.
   * @throws whatever `Exchange.fail` answers
   */
  readonly beforeRouting: (exchange: Exchange) => MaybePromise<Context>;
  readonly endpoints: readonly Endpoint<Context>[];
  /** Answers a request that no route has. @returns undefined, and answers nothing, where there is nothing for it */
  readonly notFound?: (exchange: Exchange) => Promise<void> | undefined;
}

/**
 * The handler of a listener. Express routes every request, by its router alone: an app would send headers of its own
 * and read the query. A step that memory answers goes on at once, without a turn of the event loop, and so
 * does a refusal.
 */
export function createRequestListener<Context>(routes: ListenerRoutes<Context>, deps: ExchangeDeps): RequestListener {
  const templateOf = templateFinder(routes.endpoints);
  const router = routerOf(routes);
  return (request, response) => {
    const exchange = new Exchange(routes.name, request, response, deps);
    const target = pathAndQuery(request.url ?? '');
    request.url = target;
    exchange.route = templateOf(target) ?? exchange.route;
    const routed = response as RoutedResponse<Context>;
    routed.locals = { exchange };
    // The router itself needs nothing of what an app of Express adds to a request and its response.
    router(request as Request, routed, (error: unknown) => {
      // Handlers answer their errors themselves: what is left is a path whose escapes do not decode (H8).
      if (error instanceof URIError) exchange.refuse('not_found');
      else if (error !== undefined) exchange.fail(error);
      else failOnError(exchange, () => notFound(routes, exchange, target));
    });
  };
}

/** The results of the steps of a request, for those behind them. */
interface Locals<Context> extends Record<string, unknown> {
  readonly exchange: Exchange;
  context?: Context;
}

type RoutedResponse<Context> = Response<unknown, Locals<Context>>;

function routerOf<Context>({ beforeRouting, endpoints }: ListenerRoutes<Context>): Router {
  // H12: one canonical URL.
  const router = express.Router({ caseSensitive: true, strict: true });
  router.use((_request: Request, { locals }: RoutedResponse<Context>, next: NextFunction) =>
    failOnError(locals.exchange, () =>
      andThen(beforeRouting(locals.exchange), (context) => {
        locals.context = context;
        next();
      }),
    ),
  );
  for (const { method, path, answer } of endpoints) {
    router[method](path, ({ params }: Request, { locals }: RoutedResponse<Context>) =>
      failOnError(locals.exchange, () =>
        answer({ exchange: locals.exchange, context: locals.context as Context, parameters: params }),
      ),
    );
  }
  // H10: a known path with another method is 404, and `Allow` lists its methods.
  for (const [path, own] of Map.groupBy(endpoints, (endpoint) => endpoint.path)) {
    const methods = own.map(({ method }) => method.toUpperCase());
    const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
    router.all(path, (_request: Request, { locals }: RoutedResponse<Context>) =>
      locals.exchange.refuse('not_found', undefined, ['Allow', allow]),
    );
  }
  return router;
}

/** Runs a step, whose error is the answer. */
function failOnError(exchange: Exchange, step: () => MaybePromise<void>): void {
  void catching(step, (error) => exchange.fail(error));
}

function notFound<Context>(routes: ListenerRoutes<Context>, exchange: Exchange, target: string): MaybePromise<void> {
  const other = otherListener(routes.name, target);
  const found = other === undefined ? routes.notFound?.(exchange) : undefined;
  if (found === undefined) exchange.refuse('not_found', other);
  return found;
}
