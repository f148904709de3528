import { Refusal } from '../../../domain/refusal.ts';
import type { Exchange } from '../../http/exchange.ts';
import { readBytes } from '../../http/json-body.ts';

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
