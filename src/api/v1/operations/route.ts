import type { IncomingHttpHeaders } from 'node:http';
import type * as z from 'zod';
import type { Apps, Caller } from '../../../domain/apps/apps.ts';
import type { AccountReader } from '../../../domain/fleet/reader.ts';
import type { OtelConfigs } from '../../../domain/otel-config/otel-config.ts';
import type { MaybePromise } from '../../../concurrency/maybe-promise.ts';
import type { Answered, Known } from '../../contract/answers.ts';
import type { Answers, Operation } from '../../contract/operation.ts';

/** The services that the operations of `/v1` use. */
export interface Services {
  readonly apps: Apps;
  readonly otelConfigs: OtelConfigs;
}

/** A request of `/v1` as a handler gets it. */
interface V1Request<Body> {
  readonly caller: Caller;
  /** The caller's account, as new as the request. */
  readonly account: AccountReader;
  readonly body: Body;
  /** The id in the path, in the shape of section 2.1; `''` where the path has none. */
  readonly appId: string;
  /** The Idempotency-Key field where the operation takes one (H19). */
  readonly idempotencyKey: string | undefined;
  /** H22. */
  readonly headers: Pick<IncomingHttpHeaders, 'if-match' | 'if-none-match'>;
}

/** A route is a value: an operation with its handler, which throws Refusal, StoreUnavailable and Busy. */
export interface Route<Shape extends z.core.$ZodShape, A extends Answers = Answers> extends Operation<Shape, A> {
  handle(request: V1Request<z.infer<z.ZodObject<Shape>>>, services: Services): MaybePromise<Answered<A>>;
}

/** Gives an operation its handler. It is curried, since the compiler widens literals of the answer in one call. */
export const handle =
  <Shape extends z.core.$ZodShape, A extends Answers>(operation: Operation<Shape, A> & Known<A>) =>
  (handler: Route<Shape, A>['handle']): Route<Shape, A> => ({ ...operation, handle: handler });
