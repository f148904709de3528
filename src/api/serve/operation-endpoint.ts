import type { IncomingMessage } from 'node:http';
import type * as z from 'zod';
import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { IdempotencyKey } from '../../domain/mutation/idempotency.ts';
import type { RefusalCode } from '../../domain/refusal.ts';
import type { Operation } from '../contract/operation.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Reply } from '../http/reply.ts';
import { readJson } from '../http/json-body.ts';
import { idempotencyKeyOf, queryOf } from '../http/request-headers.ts';
import { pathIds, pathWith, type PathIds } from './path-ids.ts';
import type { Route, RouteOptions } from './route.ts';
import { send } from './send.ts';
import type { Endpoint } from './request-listener.ts';

type Body = z.infer<z.ZodObject<z.core.$ZodShape>>;

/** A request for an operation, whose ids have the shapes of ids. */
export interface AuthorizeRequest<Context> {
  readonly exchange: Exchange;
  readonly context: Context;
  readonly ids: PathIds;
}

/** The checks of a listener's operations that differ by listener. */
export interface Checks<Context, ListenerCall, Services> {
  /**
   * Judges whether the caller may do the operation.
   * @returns a function that makes the listener's part of the call once the body is there, and that judges the body
   *   where its schema alone does not
   */
  readonly authorize: (
    request: AuthorizeRequest<Context>,
    route: Route<ListenerCall, Services>,
  ) => MaybePromise<(body: object) => ListenerCall>;
  /** The code of a body that is no JSON object; the code of the operation's first field without it (H2). */
  readonly brokenBody?: RefusalCode;
  /** Makes an Idempotency-Key one of the caller alone, where callers share an account. */
  readonly scopeKey?: (call: ListenerCall, key: string) => string;
  /** Makes the handler's answer what is sent of it; all of it without this. */
  readonly transfer?: (exchange: Exchange, call: ListenerCall, route: Operation, reply: Reply) => MaybePromise<Reply>;
  readonly services: Services;
}

/**
 * Serves an operation. The order of its checks is visible to clients, which get the first refusal: the ids in the path,
 * `authorize`, the body, the function that `authorize` gives, the query, the Idempotency-Key.
 */
export function operationEndpoint<Context, ListenerCall, Services>(
  route: Route<ListenerCall, Services>,
  {
    authorize,
    brokenBody,
    scopeKey = (_call, key) => key,
    transfer,
    services,
  }: Checks<Context, ListenerCall, Services>,
): Endpoint<Context> {
  const { method, path, query: declared, deadlineMs } = route;
  function handled(exchange: Exchange, ids: PathIds, body: Body, call: ListenerCall) {
    const { request } = exchange;
    const query = queryOf(request, declared);
    const idempotency = idempotencyOf(route, { request, ids, body }, (key) => scopeKey(call, key));
    const reply = route.handle({ ...ids, body, query, idempotency, ...call }, services);
    // An answer from memory is complete at once; only a call of the store can be late.
    return reply instanceof Promise ? exchange.inTime(reply, deadlineMs) : reply;
  }
  return {
    method,
    path,
    answer({ exchange, context, parameters }) {
      const ids = pathIds(parameters);
      return andThen(authorize({ exchange, context, ids }, route), (callOf) =>
        andThen(bodyOf(route, exchange, brokenBody), (body) => {
          const call = callOf(body);
          return andThen(handled(exchange, ids, body, call), (reply) =>
            transfer === undefined
              ? send(exchange, reply)
              : andThen(transfer(exchange, call, route, reply), (rest) => send(exchange, rest)),
          );
        }),
      );
    },
  };
}

/** H19: the Idempotency-Key of a request, with the path and the content that a repetition has, too. */
function idempotencyOf(
  { path, idempotency: taken }: Operation,
  { request, ids, body }: { readonly request: IncomingMessage; readonly ids: PathIds; readonly body: Body },
  scoped: (key: string) => string,
): IdempotencyKey | undefined {
  const key = idempotencyKeyOf(request, taken);
  if (!taken || key === undefined) return undefined;
  return { key: scoped(key), path: pathWith(taken.path ?? path, ids), question: taken.question(body) };
}

function bodyOf(
  { path, body, refuse, foreign }: Operation & RouteOptions,
  exchange: Exchange,
  brokenBody: RefusalCode | undefined,
): MaybePromise<Body> {
  // An operation without a body never reads it; its handler has no field to read (H6).
  if (!body || foreign === true) return {};
  const broken = brokenBody ?? Object.values(refuse ?? {})[0];
  if (broken === undefined)
    throw new Error(`${path}: neither its fields nor its listener have a code for a broken body`);
  return readJson(exchange, { body, refuse: refuse ?? 'invalid_request' }, broken);
}
