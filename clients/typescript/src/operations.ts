import { invalidArgument } from './errors.ts';
import type { ConditionalOptions, CreateOptions, GenericRequest } from './options.ts';
import { freshId, type Operation } from './transport.ts';

/** Milliseconds beyond an attempt's own for the usage, on which the service works for longer. */
export const USAGE_MS = 30_000;

const KEY = /^[\x20-\x7e]{1,255}$/;

/**
 * An operation that creates something, and may be sent again since it bears a key.
 * @throws MusterError `invalid_argument`
 */
export function keyed(
  operation: Pick<Operation, 'method' | 'path' | 'body'>,
  { idempotencyKey = freshId(Math.random) }: CreateOptions,
): Operation {
  if (!KEY.test(idempotencyKey))
    throw invalidArgument('The idempotencyKey is not 1 to 255 printable ASCII characters.');
  return { ...operation, headers: { 'idempotency-key': idempotencyKey }, repeatable: true };
}

/** The header by which a change is made over one configuration alone. */
export const conditionOf = ({ ifMatch }: ConditionalOptions): Record<string, string> =>
  ifMatch === undefined ? {} : { 'if-match': ifMatch };

/** The methods that do no harm a second time. */
const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']);

/** @throws MusterError `invalid_argument` */
export function genericOperation(request: GenericRequest, options: CreateOptions): Operation {
  const { path, query, body, headers = {} } = request;
  const method = request.method.toUpperCase();
  if (!/^[A-Z]{1,20}$/.test(method)) throw invalidArgument('The method is none.');
  if (body !== undefined && (method === 'GET' || method === 'HEAD')) {
    throw invalidArgument(`${method} takes no body.`);
  }
  const plain = { method, path, query, body, headers };
  if (options.idempotencyKey === undefined) return { ...plain, repeatable: REPEATABLE.has(method) };
  const { headers: key, repeatable } = keyed(plain, options);
  return { ...plain, headers: { ...headers, ...key }, repeatable };
}
