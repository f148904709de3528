import { isLoopbackUrl } from '../config/panel-variables.ts';
import type { Egress } from '../outgoing/egress.ts';

/** The options of a fetch that the libraries use. */
type FetchOptions = Pick<RequestInit, 'method' | 'headers' | 'signal'> & { readonly body?: unknown };

/** The time of one call of the provider, its whole answer included. */
export const PROVIDER_CALL_MS = 5000;
/** Metadata, keys and tokens have a few kilobytes. */
const ANSWER_BYTES_MAX = 1_048_576;

/**
 * A fetch for the libraries that speak to the provider: bounded in time and in bytes, without redirects, and by https
 * unless the provider is on this machine.
 * @throws TypeError for an address that must not be asked; RangeError for an answer that is too large; whatever
 * `egress` throws
 */
export const boundedFetch =
  (issuer: URL, egress: Egress) =>
  async (address: string, { signal, body, ...options }: FetchOptions = {}): Promise<Response> => {
    const url = new URL(address);
    const isLocal = url.protocol === 'http:' && issuer.protocol === 'http:' && isLoopbackUrl(url);
    if (url.protocol !== 'https:' && !isLocal) throw new TypeError('The provider names an address that is not https.');
    const timeout = AbortSignal.timeout(PROVIDER_CALL_MS);
    const response = await egress(url, {
      ...options,
      ...(body !== undefined && { body: body as NonNullable<RequestInit['body']> }),
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    const { status, headers } = response;
    return new Response(await bodyOf(response), { status, headers });
  };

async function bodyOf({ body: stream }: Response): Promise<Buffer<ArrayBuffer> | null> {
  const body = stream as AsyncIterable<Uint8Array> | null;
  if (!body) return null;
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop cancels the rest.
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > ANSWER_BYTES_MAX) throw new RangeError('The answer of the provider is too large.');
    pieces.push(piece);
  }
  return bytes === 0 ? null : Buffer.concat(pieces);
}
