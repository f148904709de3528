import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { TurnQueue } from '../../concurrency/turn-queue.ts';
import type { ListenerName } from '../../config/listeners.ts';
import { LIMITS } from '../../domain/limits.ts';
import { jitter } from '../../time/jitter.ts';
import { isEncrypted } from '../headers/security-headers.ts';
import { ANSWER_WRITTEN, BODY_AWAITED, type BodyWait } from '../http/exchange-events.ts';
import { bodyIsOnItsWay } from '../http/response.ts';
import { AdmissionSlots, type AdmissionOptions, type Slot } from './admission.ts';
import { Backlog } from './backlog.ts';
import { asksForAnother, isBelowRouting, isProtocolError, isTlsHello, NOT_IN_TIME } from './below-routing.ts';
import { Connection } from './connection.ts';
import { rawResponse, sendFixedResponse, type FixedResponse } from './fixed-response.ts';
import { Handshakes } from './handshakes.ts';
import { createHttpServer, listen, TLS, type HttpServerOptions, type TlsPair } from './http-server.ts';
import type { Rejection } from './metrics.ts';
import { CHECKS } from './progress.ts';
import { Seats, type Seat } from './seats.ts';
import { Strangers, type StrangerOptions } from './strangers.ts';

/** The settings of a listener; those that are optional have defaults. */
export interface ListenerOptions extends HttpServerOptions, AdmissionOptions, StrangerOptions {
  readonly name: ListenerName;
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Must respond to every request it is given, by `sendResponse` or otherwise, and must not throw. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** The response to bytes that are no request (H21). */
  readonly belowRouting: FixedResponse;
  /** The response to HTTP where TLS is spoken, or to TLS where HTTP is. */
  readonly otherScheme: FixedResponse;
  /** The response to a request above the bound, sent with a Retry-After that is spread over 1–5 s. */
  readonly overloaded: FixedResponse;
  /**
   * Requests handed over in one turn of the event loop; the others wait for the next turns. Without it there is no
   * bound.
   */
  readonly perTurnMax?: number;
  /** Pipelined requests of all connections that wait for the responses before them: some 3 KiB each. */
  readonly backlogMax?: number;
  /** A client that takes nothing for so many milliseconds is given up at most a quarter later. */
  readonly unreadAnswerMs?: number;
  /** How long, in milliseconds, a client that has ended its side may still take its responses. */
  readonly halfClosedMs?: number;
  /** Called for each rejection, for metrics. */
  onRejected?(reason: Rejection): void;
  /** A number in [0, 1) that spreads the Retry-After. */
  readonly random?: () => number;
}

/** An open port of the service. Disposing of it destroys its connections. */
export interface Listener extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Requests that were handed over and whose response has not left yet. */
  readonly inFlight: number;
  /**
   * New connections get this certificate from now on; open ones go on.
   * @throws TypeError for a listener that was opened without TLS
   */
  present(pair: TlsPair): void;
  /**
   * Goes on serving, but every response from now on ends its connection: clients reconnect, and find other replicas.
   */
  leave(): void;
  /**
   * Accepts no more connections, closes idle ones, lets responses in flight complete with `Connection: close`, and
   * destroys the rest after the grace. Resolves when every connection is closed; never rejects.
   * @param graceMs milliseconds
   */
  drain(graceMs: number): Promise<void>;
}

/** Requests above the bound that are responded to in one turn of the event loop; the others wait for the next turns. */
const REJECTIONS_PER_TURN_MAX = 32;
/** Above so many waiting rejections a connection is closed without a response. */
const REJECTIONS_WAITING_MAX = 10_000;

/** @throws Error in one sentence that names listener and address */
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
  readonly #slots: AdmissionSlots;
  readonly #seats: Seats;
  readonly #strangers: Strangers;
  readonly #backlog: Backlog;
  readonly #arrivals: TurnQueue;
  readonly #unreadMs: number;
  readonly #rejections = new TurnQueue(REJECTIONS_PER_TURN_MAX);
  readonly #handshakes: Handshakes | undefined;
  #leaving = false;
  #progressTimer: NodeJS.Timeout | undefined;
  #port = 0;
  #closed: Promise<void> | undefined;

  constructor(server: Server, options: ListenerOptions) {
    this.#server = server;
    this.#options = options;
    this.#unreadMs = options.unreadAnswerMs ?? LIMITS.untakenMs;
    this.#slots = new AdmissionSlots(options);
    this.#seats = new Seats(options);
    this.#strangers = new Strangers(this.#seats, options);
    this.#backlog = new Backlog(options.backlogMax ?? 10_000);
    this.#arrivals = new TurnQueue(options.perTurnMax ?? Number.POSITIVE_INFINITY);
    const serve = (request: IncomingMessage, response: ServerResponse): void => this.#serve(request, response);
    if (server instanceof TlsServer) {
      this.#handshakes = new Handshakes(this.#server, {
        seat: (raw) => this.#seat(raw),
        done: (socket, raw, seat) => this.#accept(socket, raw, seat),
        plain: (raw) => this.#answerPlainly(raw),
      });
    } else {
      server.on('connection', (socket: Socket) => {
        const seat = this.#seat(socket);
        if (seat !== undefined) this.#accept(socket, socket, seat);
      });
    }
    server.on('listening', () => {
      this.#port = (server.address() as AddressInfo).port;
      this.#progressTimer = setInterval(() => this.#checkProgress(), this.#unreadMs / CHECKS).unref();
    });
    server.on('request', serve);
    // H7: without these two, node sends 100 Continue before the request was judged, and 417 to any other expectation.
    server.on('checkContinue', serve);
    server.on('checkExpectation', serve);
    server.on('connect', (_request: IncomingMessage, socket: Socket) => this.#refuseConnect(socket));
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      if (!isProtocolError(error)) socket.destroy();
      else if (isTlsHello(error) && !isEncrypted(socket)) this.#refuse(socket, this.#options.otherScheme);
      else if (error.code !== NOT_IN_TIME || !this.#excusesLate(socket)) this.#refuse(socket);
    });
    // Called by close(). Node's own function would cut off a response that is complete but not yet flushed.
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
    return this.#slots.taken;
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
    this.#handshakes?.destroyAll();
    await closed;
    // The server is closed when it has let go of its sockets, and they close their responses somewhat later.
    for (const socket of this.#connections.keys()) await new Promise((resolve) => socket.once('close', resolve));
  }

  #destroyAll(): void {
    for (const connection of this.#connections.values()) connection.destroy();
  }

  #checkProgress(): void {
    for (const connection of this.#connections.values()) connection.checkProgress();
  }

  #seat(socket: Socket): Seat | undefined {
    const address = this.#strangers.addressOf(socket.remoteAddress ?? '');
    const close = (): void => void socket.destroy();
    const seat = this.#seats.take(address, close, (bound) => this.#options.onRejected?.(bound));
    if (seat === undefined) close();
    return seat;
  }

  #accept(socket: Socket, raw: Socket, seat: Seat): void {
    const connection = new Connection({ socket, raw, seat, backlog: this.#backlog, unreadMs: this.#unreadMs });
    if (this.#leaving) connection.leave();
    this.#connections.set(socket, connection);
    socket.on('end', () => connection.halfClosed(this.#options.halfClosedMs ?? 5_000));
    socket.on('close', () => this.#connections.delete(socket));
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined) return;
    const { seat } = connection;
    if (isBelowRouting(request)) connection.arrived(response, true, () => this.#refuseRequest(request, response));
    else connection.arrived(response, asksForAnother(request), () => this.#begin(seat, request, response));
  }

  /** @returns what gives its slot back, when its response is closed at the latest */
  #begin(seat: Seat, request: IncomingMessage, response: ServerResponse): (() => void) | undefined {
    const stranger = this.#strangers.behind(seat, request);
    if (stranger !== undefined && this.#seats.isFull(stranger)) return this.#reject(request, response, 'address_bound');
    const slot = this.#slots.take(request);
    if (slot === undefined) return this.#reject(request, response, 'request_bound');
    const leave = this.#occupy(seat, slot, request, response);
    if (seat.address !== undefined) this.#strangers.expectAuthentication(seat, response);
    if (stranger !== undefined) this.#strangers.count(stranger, response);
    if (slot.pool === 'probes') this.#options.handle(request, response);
    else this.#arrivals.do(() => this.#handOver(request, response));
    return leave;
  }

  /** Its slot is given back when its answer is written, not when the client takes it: that may be never. */
  #occupy(seat: Seat, slot: Slot, request: IncomingMessage, response: ServerResponse): () => void {
    const leave = (): void => {
      if (slot.leave()) seat.rest();
    };
    seat.work();
    response.on('prefinish', leave).on(ANSWER_WRITTEN, leave);
    if (bodyIsOnItsWay(request)) response.on(BODY_AWAITED, (wait: BodyWait) => slot.lend(wait));
    return leave;
  }

  #handOver(request: IncomingMessage, response: ServerResponse): void {
    // The client may have left while its request waited.
    if (!response.destroyed && !request.socket.destroyed) this.#options.handle(request, response);
  }

  #reject(request: IncomingMessage, response: ServerResponse, bound: Rejection): undefined {
    this.#options.onRejected?.(bound);
    // A client that retries at once is served no faster than this: a flood must not take the whole turn either.
    if (this.#rejections.waiting >= REJECTIONS_WAITING_MAX) request.socket.destroy();
    else this.#rejections.do(() => this.#respondRejected(request, response));
  }

  #respondRejected(request: IncomingMessage, response: ServerResponse): void {
    // Spread, so that clients that were rejected together do not return together.
    const retryAfter = 1 + Math.floor((this.#options.random ?? jitter)() * 5);
    const more = { ...this.#strangers.connectionOf(request), more: ['Retry-After', String(retryAfter)] };
    sendFixedResponse(request, response, this.#options.overloaded, more);
  }

  #refuseRequest(request: IncomingMessage, response: ServerResponse): undefined {
    this.#options.onRejected?.('below_routing');
    response.shouldKeepAlive = false;
    sendFixedResponse(request, response, this.#options.belowRouting, this.#strangers.connectionOf(request));
  }

  #refuse(socket: Socket, response = this.#options.belowRouting): void {
    const refused = this.#connections.get(socket)?.refuse(response);
    if (refused === true) this.#options.onRejected?.('below_routing');
  }

  #answerPlainly(raw: Socket): void {
    this.#options.onRejected?.('below_routing');
    raw.end(rawResponse(this.#options.otherScheme, false));
  }

  #excusesLate(socket: Socket): boolean {
    return this.#connections.get(socket)?.excusesLate(this.#server.headersTimeout, () => this.#refuse(socket)) === true;
  }

  #refuseConnect(socket: Socket): void {
    socket.on('error', () => {});
    this.#connections.get(socket)?.destroyResponsesOnClose();
    this.#refuse(socket);
  }
}
