import type * as z from 'zod';
import { Refusal } from '../../../domain/refusal.ts';
import type { Exchange } from '../../http/exchange.ts';
import { readBytes, readJson } from '../../http/json-body.ts';
import type { AnyRoute } from './route.ts';

/**
 * Reads a whole body that is a form, with the bounds of every body (H7).
 * @throws Refusal `invalid_request`; HttpRefusal `payload_too_large` or `overloaded`
 */
export async function readForm(exchange: Exchange): Promise<URLSearchParams> {
  const type = (exchange.request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') {
    throw new Refusal('invalid_request', 'The Content-Type must be application/x-www-form-urlencoded.');
  }
  return new URLSearchParams((await readBytes(exchange, 'invalid_request'))?.toString() ?? '');
}

/** What a request without a body has. */
export const noBody = <Shape extends z.core.$ZodShape>(): z.infer<z.ZodObject<Shape>> =>
  ({}) as z.infer<z.ZodObject<Shape>>;

/**
 * The body of a request, of which every wrong field is `invalid_request`, but for those that have codes of their own in `/v1`.
 * @throws as `readJson`
 */
export async function bodyOf<Shape extends z.core.$ZodShape>(
  { body, refuse = 'invalid_request' as never }: AnyRoute<Shape>,
  exchange: Exchange,
): Promise<z.infer<z.ZodObject<Shape>>> {
  if (!body) return noBody<Shape>();
  return await readJson(exchange, { body, refuse }, 'invalid_request');
}
