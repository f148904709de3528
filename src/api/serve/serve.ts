import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type NextFunction, type Request, type Response, type Router } from 'express';
import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { Method } from '../contract/operation.ts';
import { otherDoor, type DoorName } from '../http/errors.ts';
import { Exchange, type ExchangeDeps } from '../http/exchange.ts';
import { pathAndQuery, templateFinder } from './targets.ts';

/** A request that has passed the first check of its door. */
export interface Asked<Entered> {
  readonly exchange: Exchange;
  /** The result of that check. */
  readonly entered: Entered;
  /** The parameters in its path. */
  readonly parameters: Readonly<Record<string, string | string[]>>;
}

/** An operation, a probe or a file at a method and a path. */
export interface Served<Entered> {
  readonly method: Method;
  readonly path: string;
  /** Sends the answer. @throws whatever `Exchange.fail` answers */
  readonly answer: (asked: Asked<Entered>) => MaybePromise<void>;
}

/** The door of a listener: its first check, and what it serves. */
export interface Door<Entered> {
  readonly name: DoorName;
  /**
   * Judges each request before its route is looked for: a stranger learns nothing of the routes.
   * @throws whatever `Exchange.fail` answers
   */
  readonly enter: (exchange: Exchange) => MaybePromise<Entered>;
  readonly serves: readonly Served<Entered>[];
  /** Answers a request that no route has. @returns undefined, and answers nothing, where there is nothing for it */
  readonly otherwise?: (exchange: Exchange) => Promise<void> | undefined;
}

/**
 * The handler of a listener. Express routes every request, by its router alone: an app would send headers of its own and
 * read the query. A step that memory answers goes on at once, without a turn of the event loop, and so does a refusal.
 */
export function serve<Entered>(
  door: Door<Entered>,
  deps: ExchangeDeps,
): (request: IncomingMessage, response: ServerResponse) => void {
  const templateOf = templateFinder(door.serves);
  const router = routerOf(door);
  return (request, response) => {
    const exchange = new Exchange(door.name, request, response, deps);
    const target = pathAndQuery(request.url ?? '');
    request.url = target;
    exchange.route = templateOf(target) ?? exchange.route;
    const answering = response as Answering<Entered>;
    answering.locals = { exchange };
    // The router itself needs nothing of what an app of Express adds to a request and its response.
    router(request as Request, answering, (error: unknown) => {
      // Handlers answer their errors themselves: what is left is a path whose escapes do not decode (H8).
      if (error instanceof URIError) exchange.refuse('not_found');
      else if (error !== undefined) exchange.fail(error);
      else answered(exchange, () => otherwise(door, exchange, target));
    });
  };
}

/** The results of the steps of a request, for those behind them. */
interface Locals<Entered> extends Record<string, unknown> {
  readonly exchange: Exchange;
  entered?: Entered;
}

type Answering<Entered> = Response<unknown, Locals<Entered>>;

function routerOf<Entered>({ enter, serves }: Door<Entered>): Router {
  // H12: one canonical URL.
  const router = express.Router({ caseSensitive: true, strict: true });
  router.use((_request: Request, { locals }: Answering<Entered>, next: NextFunction) =>
    answered(locals.exchange, () =>
      andThen(enter(locals.exchange), (entered) => {
        locals.entered = entered;
        next();
      }),
    ),
  );
  for (const { method, path, answer } of serves) {
    router[method](path, ({ params }: Request, { locals }: Answering<Entered>) =>
      answered(locals.exchange, () =>
        answer({ exchange: locals.exchange, entered: locals.entered as Entered, parameters: params }),
      ),
    );
  }
  // H10: a known path with another method is 404, and `Allow` lists its methods.
  for (const [path, own] of Map.groupBy(serves, (served) => served.path)) {
    const methods = own.map(({ method }) => method.toUpperCase());
    const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
    router.all(path, (_request: Request, { locals }: Answering<Entered>) =>
      locals.exchange.refuse('not_found', undefined, ['Allow', allow]),
    );
  }
  return router;
}

/** Runs a step, whose error is the answer. */
function answered(exchange: Exchange, step: () => MaybePromise<void>): void {
  try {
    const ended = step();
    if (ended instanceof Promise) ended.catch((error: unknown) => exchange.fail(error));
  } catch (error) {
    exchange.fail(error);
  }
}

function otherwise<Entered>(door: Door<Entered>, exchange: Exchange, target: string): MaybePromise<void> {
  const other = otherDoor(door.name, target);
  const found = other === undefined ? door.otherwise?.(exchange) : undefined;
  if (found === undefined) exchange.refuse('not_found', other);
  return found;
}
