import type * as z from 'zod';
import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { IdempotencyKey } from '../../domain/mutation/idempotency.ts';
import type { Answered, Known } from '../contract/answers.ts';
import type { Answers, Method, Operation } from '../contract/operation.ts';
import type { PathIds } from './path-ids.ts';

/** The part of a request that every handler gets; its listener adds what it knows of the caller. */
export interface Call<Body, Query = unknown> extends PathIds {
  readonly body: Body;
  readonly query: Query;
  /** H19; undefined where the request has no Idempotency-Key, or the operation takes none. */
  readonly idempotency: IdempotencyKey | undefined;
}

/** How an operation is served, beside what it says of itself. */
export interface RouteOptions {
  /** Milliseconds; longer than for other requests (H15) where the work has many steps, each bounded by `inTime`. */
  readonly deadlineMs?: number;
  /** Takes a write from elsewhere than a page of the panel, such as from the provider, and a form in place of JSON. */
  readonly foreign?: true;
  /** The rate of a user of the panel that it counts in, where it is not that of its method (P9). */
  readonly charged?: 'change' | 'batch';
  /** A browser sends it again and again by itself: it is no use of a session. */
  readonly unattended?: true;
}

/**
 * A route is a value: an operation with its handler, which throws Refusal, HttpRefusal, StoreUnavailable and Busy.
 * `ListenerCall` is what the listener gives its handlers, and `Services` what they work with.
 */
export interface Route<
  ListenerCall,
  Services,
  Shape extends z.core.$ZodShape = z.core.$ZodShape,
  A extends Answers = Answers,
  Query extends z.ZodObject = z.ZodObject,
>
  extends Operation<Shape, A, string, Method, Query>, RouteOptions {
  /**
   * A phantom property: no route has it. Methods are bivariant in TypeScript, and without it a route would compile
   * behind the checks of another listener, which give it less.
   */
  readonly needs?: (own: ListenerCall, services: Services) => void;
  handle(
    this: void,
    call: Call<z.infer<z.ZodObject<Shape>>, z.infer<Query>> & ListenerCall,
    services: Services,
  ): MaybePromise<Answered<A>>;
}

/**
 * Makes the function by which the operations of a listener get their handlers. It is curried, since the compiler widens
 * literals of the answer in one call.
 */
export const handlerOf =
  <ListenerCall, Services>() =>
  <Shape extends z.core.$ZodShape, A extends Answers, Query extends z.ZodObject>(
    operation: Operation<Shape, A, string, Method, Query> & Known<A>,
    options: RouteOptions = {},
  ) =>
  (
    handler: Route<ListenerCall, Services, Shape, A, Query>['handle'],
  ): Route<ListenerCall, Services, Shape, A, Query> => ({
    ...operation,
    ...options,
    handle: handler,
  });
