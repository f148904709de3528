import type * as z from 'zod';
import type { Apps, Caller } from '../../../domain/apps/apps.ts';
import type { AccountReader } from '../../../domain/fleet/reader.ts';
import type { OtelConfigs } from '../../../domain/otel-config/otel-config.ts';
import type { RefusalCode } from '../../../domain/refusal.ts';
import type { Reply } from '../../http/exchange.ts';
import type { FieldCodes } from '../../http/json-body.ts';

/** The services that the operations of `/v1` use. */
export interface Services {
  readonly apps: Apps;
  readonly otelConfigs: OtelConfigs;
}

/** A request of `/v1` as a handler gets it. */
export interface V1Request<Body> {
  readonly caller: Caller;
  /** The caller's account, as new as the request. */
  readonly account: AccountReader;
  readonly body: Body;
  /** The id in the path, in the shape of section 2.1; `''` where the path has none. */
  readonly appId: string;
  /** The Idempotency-Key field where the operation takes one (H19). */
  readonly idempotencyKey: string | undefined;
}

/**
 * A route is a value: schema, refusal codes and handler of one operation. Its handler throws Refusal,
 * StoreUnavailable and Busy.
 */
export interface Route<Shape extends z.core.$ZodShape> {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  readonly path: string;
  readonly body?: z.ZodObject<Shape>;
  /** The code of each field, in the order in which the fields are judged. */
  readonly refuse?: FieldCodes<Shape>;
  /** The entitlement without which it is 403, before the body is read (H1). */
  readonly requires?: 'enterprise';
  /**
   * The treatment of a malformed Idempotency-Key: refused with this code, or ignored; absent where the operation takes
   * none.
   */
  readonly idempotency?: { readonly malformed: RefusalCode | 'ignored' };
  handle(request: V1Request<z.infer<z.ZodObject<Shape>>>, services: Services): Promise<Reply> | Reply;
}

/** Gives a route the type of its schema's shape where it is written. */
export const route = <Shape extends z.core.$ZodShape>(definition: Route<Shape>): Route<Shape> => definition;

/** H19: marks a response that repeats an earlier one. */
export const REPLAYED: readonly string[] = ['Idempotency-Replayed', 'true'];
