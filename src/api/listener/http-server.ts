import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { listenVariable, type ListenerName } from '../../config/listeners.ts';

/** A certificate and its key. */
export interface TlsPair {
  /** PEM: the server's own certificate, then the intermediate ones. */
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** The settings of a server; those that are optional have defaults. */
export interface HttpServerOptions {
  /** HTTPS with this certificate; HTTP where it is absent. */
  readonly tls?: TlsPair;
  /** H21: the time for a complete request head, in milliseconds. */
  readonly headerTimeoutMs?: number;
  /** How often the heads are checked, in milliseconds; a head is refused at most this much late. */
  readonly headerCheckMs?: number;
  /**
   * Milliseconds that an idle connection stays open; node closes it a second later than that, which clients are told.
   * It is longer than the other side keeps it: the side that sends must be the side that closes first.
   */
  readonly keepAliveMs: number;
}

const HEADER_BYTES_MAX = 16_384;
/** A backstop for an unread body; a reader has its own, shorter limits (H7, H21). */
const REQUEST_TIMEOUT_MS = 60_000;
/**
 * The suites of TLS 1.3, and those of 1.2 that encrypt with authentication and give each connection keys of its own
 * (RFC 9325, 4.2): none with CBC. Node speaks no TLS 1.3 where its suites are not among them.
 */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');
/** A handshake has the time of a request's head (H21). */
export const TLS = {
  minVersion: 'TLSv1.2',
  ciphers: CIPHERS,
  ALPNProtocols: ['http/1.1'],
  handshakeTimeout: 10_000,
} as const;

/** A server of HTTP/1.1 with the limits of H7 and H21, which does not listen yet. */
export function createHttpServer(options: HttpServerOptions): Server {
  const settings = {
    // Set here so that no flag of the process loosens it.
    httpValidation: 'strict',
    // Otherwise node itself responds 400 to a missing Host (H21).
    requireHostHeader: false,
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: options.headerTimeoutMs ?? 10_000,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: options.headerCheckMs ?? 1_000,
    keepAliveTimeout: options.keepAliveMs,
    keepAlive: true,
    // This saves a fifth of the cost of a small GET. Such a request has ended before it is handled and emits nothing
    // when its client leaves: its response does.
    optimizeEmptyRequests: true,
  } as const;
  const server = options.tls ? createTlsServer({ ...settings, ...TLS, ...options.tls }) : createServer(settings);
  // 0 means no limit. Above any other number node drops headers silently, perhaps the second Authorization of H16;
  // their size is bounded instead.
  server.maxHeadersCount = 0;
  server.on('timeout', destroyIfIdle);
  // A client that has sent its FIN may still be reading: without this only a response that was ready would reach it.
  return Object.assign(server, { httpAllowHalfOpen: true });
}

/**
 * Ends a connection whose idle time is over. After a turn of the event loop that took long, its next request may be
 * there and not read yet: what is there is read first.
 */
function destroyIfIdle(socket: Socket): void {
  const { bytesRead } = socket;
  setImmediate(() => {
    if (socket.bytesRead === bytesRead) socket.destroy();
  });
}

/**
 * Connections that the kernel holds until they are accepted, one in each turn of the event loop. It drops further ones,
 * and the client tries again after 1, 3, 7, … 63 s: with node's 511 a herd took over a minute. The system may allow
 * less (net.core.somaxconn).
 */
const BACKLOG_MAX = 4096;

const LISTEN_ERRORS = new Map([
  ['EADDRINUSE', 'the address is already in use'],
  ['EACCES', 'this user may not listen there'],
  ['EADDRNOTAVAIL', 'this machine does not have the address'],
  ['ENOTFOUND', 'the host name is unknown'],
]);

/** @throws Error in one sentence that names the listener, the address and the variable to set */
export async function listen(server: Server, name: ListenerName, host: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen({ host, port, backlog: BACKLOG_MAX }, resolve);
  try {
    await promise;
    server.off('error', reject);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    const variable = listenVariable(name);
    const reason = LISTEN_ERRORS.get(code ?? '') ?? message;
    throw new Error(`The ${name} listener cannot listen on ${address}: ${reason}: set ${variable} to another one.`, {
      cause: error,
    });
  }
}
