import type * as z from 'zod';
import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { Answered, Known } from '../contract/answers.ts';
import type { Answers, Operation } from '../contract/operation.ts';
import type { Exchange } from '../http/exchange.ts';
import type { DeviceDeps } from './deps.ts';

/** An operation of the device plane with its handler, which throws Refusal, HttpRefusal, StoreUnavailable and Busy. */
export interface DeviceRoute<
  Shape extends z.core.$ZodShape = z.core.$ZodShape,
  A extends Answers = Answers,
> extends Operation<Shape, A> {
  readonly handle: (exchange: Exchange, deps: DeviceDeps) => MaybePromise<Answered<A>>;
  /** Called before the refusal is sent. */
  readonly refused?: (error: unknown, deps: DeviceDeps) => void;
}

/** Gives an operation its handler. It is curried, since the compiler widens literals of the answer in one call. */
export const handle =
  <Shape extends z.core.$ZodShape, A extends Answers>(
    operation: Operation<Shape, A> & Known<A>,
    refused?: DeviceRoute['refused'],
  ) =>
  (handler: DeviceRoute<Shape, A>['handle']): DeviceRoute<Shape, A> => ({
    ...operation,
    handle: handler,
    ...(refused && { refused }),
  });
