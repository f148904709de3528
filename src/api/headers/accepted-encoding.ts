import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';

const ENCODINGS = ['gzip', 'identity'];

/**
 * Whether an answer is to be sent in gzip (RFC 9110, 12.5.3): the client takes it, and does not prefer it as it is. The
 * answer then has `Vary: Accept-Encoding`.
 */
export function takesGzip(request: Pick<IncomingMessage, 'headers'>): boolean {
  if (request.headers['accept-encoding'] === undefined) return false;
  return new Negotiator(request).encodings(ENCODINGS)[0] === 'gzip';
}
