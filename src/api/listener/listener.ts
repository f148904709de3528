import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { TurnQueue } from '../../concurrency/turn-queue.ts';
import { answer, requestIdOf } from '../http/response.ts';
import { Places, type PlaceOptions } from './admission.ts';
import { Connection, type FixedAnswer } from './connection.ts';
import { createHttpServer, listen, TLS, type HttpServerOptions, type TlsPair } from './http-server.ts';
import type { Rejection } from './metrics.ts';

export interface ListenerOptions extends HttpServerOptions, PlaceOptions {
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
  /** Requests handed over in one turn of the event loop; the others wait for the next ones. All at once without it. */
  readonly perTurnMax?: number;
  /** An answer that the client does not take is given up after once to twice this time. */
  readonly unreadAnswerMs?: number;
  /** How long a client that has said it will send no more is waited upon. */
  readonly halfClosedMs?: number;
  /** For metrics. */
  onTurnedAway?(reason: Rejection): void;
  /** In [0, 1). */
  readonly random?: () => number;
}

export interface Listener extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Requests that were handed over and whose answer has not left yet. */
  readonly inFlight: number;
  /** What new connections are shown from now on; open ones go on. Only of a listener that was opened with TLS. */
  present(pair: TlsPair): void;
  /** Goes on serving, but every answer from now on ends its connection: clients come back, and find others. */
  leave(): void;
  /**
   * Accepts no more, closes what is idle, lets answers in flight complete with `Connection: close`, and destroys what is
   * left after the grace. Resolves when every connection is closed.
   */
  drain(graceMs: number): Promise<void>;
}

/** Refusals of requests above the bound that are written in one turn of the event loop; the others wait their turn. */
const SHED_PER_TURN_MAX = 32;
/** Above it a connection is closed without an answer. */
const SHED_WAITING_MAX = 10_000;

/** Opens a listener; rejects with one sentence that names listener and address. */
export async function openListener(options: ListenerOptions): Promise<Listener> {
  const server = createHttpServer(options);
  const listener = new HttpListener(server, options);
  await listen(server, options.name, options.host, options.port);
  return listener;
}

class HttpListener implements Listener {
  readonly #server: Server;
  readonly #options: ListenerOptions;
  readonly #connections = new Map<Socket, Connection>();
  readonly #places: Places;
  readonly #arrivals: TurnQueue;
  readonly #sheds = new TurnQueue(SHED_PER_TURN_MAX);
  /** Of TLS: those that still shake hands, by the address of the other side. */
  readonly #shakingHands = new Map<string, Socket>();
  #leaving = false;
  #progressTimer: NodeJS.Timeout | undefined;
  #port = 0;
  #closed: Promise<void> | undefined;

  constructor(server: Server, options: ListenerOptions) {
    this.#server = server;
    this.#options = options;
    this.#places = new Places(options);
    this.#arrivals = new TurnQueue(options.perTurnMax ?? Number.POSITIVE_INFINITY);
    const serve = (request: IncomingMessage, response: ServerResponse): void => this.#serve(request, response);
    if (server instanceof TlsServer) {
      server.on('connection', (socket: Socket) => this.#shakeHands(socket));
      server.on('secureConnection', (socket: Socket) => {
        this.#shakingHands.delete(peerOf(socket));
        this.#accept(socket);
      });
    } else server.on('connection', (socket: Socket) => this.#accept(socket));
    server.on('listening', () => {
      this.#port = (server.address() as AddressInfo).port;
      this.#progressTimer = setInterval(() => this.#checkProgress(), options.unreadAnswerMs ?? 30_000).unref();
    });
    server.on('drop', () => options.onTurnedAway?.('connection_bound'));
    server.on('request', serve);
    // H7: without these two, node sends 100 Continue before anybody has looked, and 417 where another value stands.
    server.on('checkContinue', serve);
    server.on('checkExpectation', serve);
    server.on('connect', (_request: IncomingMessage, socket: Socket) => this.#refuseConnect(socket));
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      if (isProtocolError(error)) this.#refuse(socket);
      else socket.destroy();
    });
    // Called by close(). Node's own would cut off an answer that is complete but not yet flushed.
    server.closeIdleConnections = () => {
      for (const connection of this.#connections.values()) connection.close();
    };
  }

  get host(): string {
    return this.#options.host;
  }

  get port(): number {
    return this.#port;
  }

  get inFlight(): number {
    return this.#places.taken;
  }

  present(pair: TlsPair): void {
    if (!(this.#server instanceof TlsServer)) throw new TypeError('a listener of HTTP has no certificate');
    this.#server.setSecureContext({ ...TLS, ...pair });
  }

  leave(): void {
    this.#leaving = true;
    for (const connection of this.#connections.values()) connection.leave();
  }

  async drain(graceMs: number): Promise<void> {
    this.leave();
    this.#closed ??= this.#close();
    const timer = graceMs > 0 ? setTimeout(() => this.#destroyAll(), graceMs) : this.#destroyAll();
    await this.#closed;
    clearTimeout(timer ?? undefined);
    clearInterval(this.#progressTimer);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.drain(0);
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#shakingHands.values()) socket.destroy();
    await closed;
    // The server is closed when it has let go of its sockets, and they tell their answers somewhat later.
    for (const socket of this.#connections.keys()) await new Promise((resolve) => socket.once('close', resolve));
  }

  #destroyAll(): void {
    for (const socket of this.#connections.keys()) socket.destroy();
  }

  #checkProgress(): void {
    for (const connection of this.#connections.values()) connection.checkProgress();
  }

  #shakeHands(socket: Socket): void {
    const peer = peerOf(socket);
    this.#shakingHands.set(peer, socket);
    socket.on('close', () => {
      if (this.#shakingHands.get(peer) === socket) this.#shakingHands.delete(peer);
    });
  }

  #accept(socket: Socket): void {
    const connection = new Connection(socket);
    if (this.#leaving) connection.leave();
    this.#connections.set(socket, connection);
    socket.on('end', () => connection.halfClosed(this.#options.halfClosedMs ?? 5_000));
    socket.on('close', () => this.#connections.delete(socket));
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket);
    if (connection?.began(response) !== true) return;
    const isHttp1 = request.httpVersionMajor === 1;
    const place = isHttp1 ? this.#places.take(request) : undefined;
    response.on('close', () => {
      if (place) this.#places.leave(place);
      connection.answered(response);
    });
    if (place === 'vital') this.#options.handle(request, response);
    else if (place) this.#arrivals.do(() => this.#handOver(request, response));
    else if (isHttp1) this.#shed(request, response);
    else this.#refuseVersion(request, response);
  }

  #handOver(request: IncomingMessage, response: ServerResponse): void {
    // Its client may have left while it waited.
    if (!response.destroyed && !request.socket.destroyed) this.#options.handle(request, response);
  }

  #shed(request: IncomingMessage, response: ServerResponse): void {
    this.#options.onTurnedAway?.('request_bound');
    // Who comes again at once is answered no faster than this: a flood of refusals must not take all of the turn either.
    if (this.#sheds.waiting >= SHED_WAITING_MAX) request.socket.destroy();
    else this.#sheds.do(() => this.#answerShed(request, response));
  }

  #answerShed(request: IncomingMessage, response: ServerResponse): void {
    // Spread, so that those who were sent away together do not come back together.
    const retryAfter = 1 + Math.floor((this.#options.random ?? Math.random)() * 5);
    answerFixed(request, response, this.#options.overloaded, { 'Retry-After': retryAfter });
  }

  /** The parser takes HTTP/0.9, and 2.0 where it is written in a request line: neither can have been meant (H21). */
  #refuseVersion(request: IncomingMessage, response: ServerResponse): void {
    this.#options.onTurnedAway?.('below_routing');
    response.shouldKeepAlive = false;
    answerFixed(request, response, this.#options.belowRouting, {});
  }

  #refuse(socket: Socket): void {
    const refused = this.#connections.get(socket)?.refuse(this.#options.belowRouting);
    if (refused === true) this.#options.onTurnedAway?.('below_routing');
  }

  #refuseConnect(socket: Socket): void {
    socket.on('error', () => {});
    this.#connections.get(socket)?.abandonAnswersOnClose();
    this.#refuse(socket);
  }
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

function answerFixed(
  request: IncomingMessage,
  response: ServerResponse,
  { status, body }: FixedAnswer,
  more: OutgoingHttpHeaders,
): void {
  const headers = {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    'X-Request-Id': requestIdOf(request),
    ...more,
  };
  answer(request, response, status, headers, body);
}

function isProtocolError({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' || code?.startsWith('HPE_') === true;
}
