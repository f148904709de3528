import type { IncomingMessage } from 'node:http';

/**
 * Whether a request that the parser accepts is none (H21): a version that no client can have meant (the parser takes
 * HTTP/0.9, and 2.0 in a request line), two `Host` fields or none under HTTP/1.1 (RFC 9112, 3.2), and
 * `Transfer-Encoding` under HTTP/1.0, whose framing intermediaries read in different ways (RFC 9112, 6.1).
 */
export function isBelowRouting(request: IncomingMessage): boolean {
  const { httpVersionMajor, httpVersionMinor, headers } = request;
  if (httpVersionMajor !== 1) return true;
  if (headers.host === undefined) return httpVersionMinor > 0 || isChunkedUnder10(request);
  return hasTwoHosts(request.rawHeaders) || isChunkedUnder10(request);
}

/**
 * Whether a request asks for another protocol (`Upgrade`), which never begins here. Whatever its client sends next may
 * be meant in that protocol: nothing that follows on its connection is to be executed.
 */
export const asksForAnother = (request: IncomingMessage): boolean => request.headers.upgrade !== undefined;

function isChunkedUnder10({ httpVersionMinor, headers }: IncomingMessage): boolean {
  return httpVersionMinor === 0 && headers['transfer-encoding'] !== undefined;
}

/** The raw headers are looked at, since node keeps the first of several `Host` fields. */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}

/** A request has not come in time. */
export const NOT_IN_TIME = 'ERR_HTTP_REQUEST_TIMEOUT';

/** Whether a fault is one of HTTP, so that an answer can still be sent. */
export const isProtocolError = ({ code }: NodeJS.ErrnoException): boolean =>
  code === NOT_IN_TIME || code?.startsWith('HPE_') === true;

/** Whether the bytes that are no request begin a handshake of TLS: the client was told `https://`. */
export function isTlsHello(error: NodeJS.ErrnoException): boolean {
  const { rawPacket } = error as { readonly rawPacket?: Buffer };
  return rawPacket?.[0] === 0x16 && rawPacket[1] === 0x03;
}

/** Whether a handshake failed since the client speaks HTTP without TLS. */
export const isPlainHttp = ({ code }: NodeJS.ErrnoException): boolean => code === 'ERR_SSL_HTTP_REQUEST';
