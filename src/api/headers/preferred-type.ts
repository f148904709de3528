import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';

/**
 * The media type among those that there are that the client prefers (RFC 9110, 12.5.1): the first one where it has no
 * preference, undefined where it takes none of them.
 */
export const preferredType = (
  request: Pick<IncomingMessage, 'headers'>,
  available: readonly string[],
): string | undefined => (request.headers.accept ? new Negotiator(request).mediaTypes(available)[0] : available[0]);
