import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { answer, requestIdOf } from './answer.ts';
import { Connection, type FixedAnswer } from './connection.ts';

/** `below_routing`: no request of HTTP (H21). The others: one request, or one connection, above the bound. */
export type TurnedAway = 'below_routing' | 'request_bound' | 'connection_bound';

export interface ListenerOptions {
  readonly name: 'api' | 'device' | 'ops';
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Must answer every request it is given, by `answer` or otherwise, and must not throw. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** H21. */
  readonly belowRouting: FixedAnswer;
  /** Sent with a Retry-After, spread over 1–5 s, to a request above the bound. */
  readonly overloaded: FixedAnswer;
  /** Requests in flight. */
  readonly concurrencyMax: number;
  readonly connectionsMax?: number;
  /** H21: the time for a complete request head. */
  readonly headerTimeoutMs?: number;
  /** How often the time of the heads is looked at; a head is refused at most this much late. */
  readonly headerCheckMs?: number;
  /** For a next request. Longer than the 60 s of common load balancers: who closes first must be who sends. */
  readonly keepAliveMs?: number;
  /** Without a byte in either direction while an answer is owed. Longer than a held poll. */
  readonly silenceMs?: number;
  /** For the answers of a client that has said it will send no more. */
  readonly halfClosedMs?: number;
  /** For metrics. */
  onTurnedAway?(reason: TurnedAway): void;
  readonly random?: () => number;
}

export interface Listener extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Requests that were handed over and whose answer has not left yet. */
  readonly inFlight: number;
  /**
   * Accepts no more, closes what is idle, lets answers in flight complete with `Connection: close`, and destroys what is
   * left after the grace. Resolves when every connection is closed.
   */
  drain(graceMs: number): Promise<void>;
}

const HEADER_BYTES_MAX = 16_384;
/** A backstop for a body that nobody reads; who reads one has its own, shorter limits (H7, H21). */
const REQUEST_TIMEOUT_MS = 60_000;

/** Opens a listener; rejects with one sentence that names listener and address. */
export async function openListener(options: ListenerOptions): Promise<Listener> {
  const connections = new Map<Socket, Connection>();
  const inFlight = new Set<ServerResponse>();
  const server = createHttpServer(options);
  let draining: Promise<void> | undefined;

  function settle(this: ServerResponse): void {
    inFlight.delete(this);
    connections.get(this.req.socket)?.answered();
  }

  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    if (connections.get(request.socket)?.began(response) !== true) return;
    response.on('close', settle);
    if (inFlight.size >= options.concurrencyMax) {
      shed(options, request, response);
    } else {
      inFlight.add(response);
      options.handle(request, response);
    }
  };

  const refuse = (socket: Socket): void => {
    options.onTurnedAway?.('below_routing');
    connections.get(socket)?.refuse(options.belowRouting);
  };

  server.on('connection', (socket: Socket) => {
    const connection = new Connection(socket);
    connections.set(socket, connection);
    if (draining) connection.close();
    socket.on('end', () => connection.halfClosed(options.halfClosedMs ?? 5_000));
    socket.on('close', () => connections.delete(socket));
  });
  server.on('drop', () => options.onTurnedAway?.('connection_bound'));
  server.on('request', serve);
  // H7: without these two, node sends 100 Continue before anybody has looked, and 417 where another value stands.
  server.on('checkContinue', serve);
  server.on('checkExpectation', serve);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (isProtocolError(error)) refuse(socket);
    else socket.destroy();
  });
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    // Node has let go of this socket: of its errors, and of what happens to open answers when it closes.
    socket.on('error', () => {});
    socket.on('close', () => {
      for (const response of inFlight) if (response.req.socket === socket) response.destroy();
    });
    refuse(socket);
  });
  // Called by close(). Node's own would cut off an answer that is complete but not yet flushed.
  server.closeIdleConnections = () => {
    for (const connection of connections.values()) connection.close();
  };

  await listen(server, options);

  const drain = (graceMs: number): Promise<void> => {
    const end = (): void => {
      for (const socket of connections.keys()) socket.destroy();
    };
    const timer = graceMs > 0 ? setTimeout(end, graceMs) : undefined;
    draining ??= new Promise((resolve) => server.close(() => resolve()));
    if (graceMs <= 0) end();
    return draining.finally(() => clearTimeout(timer));
  };

  return {
    host: options.host,
    port: (server.address() as AddressInfo).port,
    get inFlight() {
      return inFlight.size;
    },
    drain,
    [Symbol.asyncDispose]: () => drain(0),
  };
}

function createHttpServer(options: ListenerOptions): Server {
  const server = createServer({
    // Not to be loosened by a flag of the process.
    httpValidation: 'strict',
    // A missing Host is node's own 400 otherwise; no route depends on it.
    requireHostHeader: false,
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: options.headerTimeoutMs ?? 10_000,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: options.headerCheckMs ?? 1_000,
    keepAliveTimeout: options.keepAliveMs ?? 65_000,
    keepAlive: true,
  });
  // 0 is without limit: above another number node drops headers in silence, perhaps the second Authorization of H16.
  // What bounds them is their size.
  server.maxHeadersCount = 0;
  server.timeout = options.silenceMs ?? 75_000;
  if (options.connectionsMax !== undefined) server.maxConnections = options.connectionsMax;
  // A client that has sent its FIN may still be reading: without this its answer is lost unless it was there at once.
  return Object.assign(server, { httpAllowHalfOpen: true });
}

async function listen(server: Server, { name, host, port }: ListenerOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen({ host, port }, resolve);
  try {
    await promise;
    server.off('error', reject);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    const reason = LISTEN_ERRORS.get(code ?? '') ?? message;
    throw new Error(`The ${name} listener cannot listen on ${address}: ${reason}.`, { cause: error });
  }
}

const LISTEN_ERRORS = new Map([
  ['EADDRINUSE', 'the address is already in use'],
  ['EACCES', 'this user may not listen there'],
  ['EADDRNOTAVAIL', 'this machine does not have the address'],
  ['ENOTFOUND', 'the host name is unknown'],
]);

function isProtocolError({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' || code?.startsWith('HPE_') === true;
}

function shed(options: ListenerOptions, request: IncomingMessage, response: ServerResponse): void {
  options.onTurnedAway?.('request_bound');
  const headers = [
    ['Content-Type', 'application/json'],
    ['Cache-Control', 'no-store'],
    ['X-Request-Id', requestIdOf(request)],
    // Spread, so that those who were sent away together do not come back together.
    ['Retry-After', 1 + Math.floor((options.random ?? Math.random)() * 5)],
  ].flat();
  answer(request, response, options.overloaded.status, headers, options.overloaded.body);
}
