import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { systemClock } from '../../time/clock.ts';
import { breakBody } from '../http/broken-body.ts';
import { DRAIN_BYTES_MAX, DRAIN_MS } from '../http/response.ts';
import { isEncrypted } from '../headers/security-headers.ts';
import type { Backlog } from './backlog.ts';
import { rawResponse, type FixedResponse } from './fixed-response.ts';
import type { Seat } from './seats.ts';
import { Unread } from './unread.ts';

/** Above so many responses that the client does not have yet, its connection is read no further. */
export const OWED_MAX = 16;

/** Serves a request. @returns to be called when its response is closed; undefined where there is nothing to do */
type Begin = () => (() => void) | undefined;

/**
 * A request of a connection. It is a class, since V8 makes the objects of a literal in the old space once most of them
 * have survived a collection: each then kept a whole finished exchange until the next full collection (ADR 0049).
 */
class Pending {
  readonly response: ServerResponse;
  readonly begin: Begin;
  closed: (() => void) | undefined;

  constructor(response: ServerResponse, begin: Begin) {
    this.response = response;
    this.begin = begin;
  }
}

/** The parts of a connection. */
interface ConnectionParts {
  readonly socket: Socket;
  /** The TCP socket; the same without TLS. */
  readonly raw: Socket;
  readonly seat: Seat;
  readonly backlog: Backlog;
  /** For its client to take anything of an answer, in milliseconds. */
  readonly unreadMs: number;
}

/**
 * The state of one TCP connection: its pending responses, and how it is to end. Its requests are served one after the
 * other: a request begins when the kernel has the response before it. So a connection costs one slot and one response
 * at most, however much its client pipelines, and whether or not it reads.
 *
 * Closing the connection behind an unanswered request would need no queue, and RFC 9112 (9.3.2) permits it. It was
 * tried: of 10 pipelined requests the client had 1 answer, and of 600 none, since a bound of what is never served
 * closed the connection. Some clients pipeline unasked, such as httpx of Ruby.
 */
export class Connection {
  readonly seat: Seat;
  readonly #socket: Socket;
  /** Requests whose responses the kernel does not have yet, oldest first: the first one is being served. */
  readonly #pending: Pending[] = [];
  /** The latest request's response; kept after it was sent while the body of its request is still on its way. */
  #latest: ServerResponse | undefined;
  readonly #unread: Unread;
  #bytesReadWhenIdle = 0;
  #closing = false;
  /** A response that is pending ends the connection (RFC 9112, 9.6): what follows its request is never served. */
  #isLast = false;
  /** It counts the waiting requests of all connections; those of this one are counted under `#unread`. */
  readonly #backlog: Backlog;
  /** Requests that are never served, which node keeps until the connection closes. */
  #unserved = 0;
  /** Nothing is read until there is less owed. */
  #isHeld = false;
  /** When it was read on, on the monotonic clock. */
  #readOnAt = Number.NEGATIVE_INFINITY;
  /** The head of a request that is on its way, and had no chance to come in time. */
  #excused: { readonly ms: number; readonly late: () => void; timer?: NodeJS.Timeout } | undefined;
  /** HTTP has ended on this connection: bytes that still arrive are discarded. */
  #discarding = false;
  #refusal: FixedResponse | undefined;

  constructor({ socket, raw, seat, backlog, unreadMs }: ConnectionParts) {
    this.#socket = socket;
    this.#unread = new Unread(socket, raw, unreadMs, () => this.#ended());
    this.seat = seat;
    seat.close = () => void socket.destroy();
    this.#backlog = backlog;
    // Node resumes it whenever a body has been read.
    socket.on('resume', () => {
      if (this.#isHeld) socket.pause();
    });
    socket.on('close', () => {
      seat.leave();
      backlog.end(this.#unread);
      this.#headCame();
    });
  }

  /**
   * Registers a request.
   * @param isLast whether it ends the connection: its response says so, and nothing that follows it is executed
   * @param begin serves it: called now, or when it is its turn; never where a response before it ends the connection,
   * since its own could not be sent
   */
  arrived(response: ServerResponse, isLast: boolean, begin: Begin): void {
    if (this.#socket.destroyed) return;
    this.#headCame();
    const before = this.#pending.at(-1)?.response;
    if (before === undefined) this.#unread.debt?.prove();
    if (this.#isLast || (before?.headersSent === true && !before.shouldKeepAlive)) {
      this.#unserved += 1;
      this.#holdWhereMuchIsOwed();
      return;
    }
    if (this.#closing) {
      // Only the newest response may close: no other reaches the client after one that closes.
      if (before !== undefined) before.shouldKeepAlive = true;
      response.shouldKeepAlive = false;
    }
    if (isLast) {
      this.#isLast = true;
      response.shouldKeepAlive = false;
    }
    const pending = new Pending(response, begin);
    this.#pending.push(pending);
    this.#latest = response;
    response.on('close', () => {
      pending.closed?.();
      this.#responded(pending);
    });
    if (before === undefined) pending.closed = begin();
    else {
      this.#backlog.add(this.#unread);
      this.#holdWhereMuchIsOwed();
    }
  }

  /** The kernel has the response, or its connection is closed. */
  #responded(pending: Pending): void {
    // Node ends the connection, and may yet read from it before it has.
    if (!pending.response.shouldKeepAlive) this.#isLast = true;
    const first = this.#pending[0] === pending;
    if (first) this.#pending.shift();
    else this.#pending.splice(this.#pending.indexOf(pending), 1);
    if (this.#isHeld && this.#owed() <= OWED_MAX) this.#readOn();
    if (this.#pending.length > 0) {
      if (first) this.#beginNext();
      return;
    }
    if (this.#latest?.req.complete === true) this.#latest = undefined;
    this.#bytesReadWhenIdle = this.#socket.bytesRead;
    if (this.#refusal !== undefined) this.#sendRefusal(this.#refusal);
    else if (this.#closing || this.#discarding) this.#socket.destroySoon();
  }

  // In a turn of its own: many pipelined requests must not take the turns of other connections.
  #beginNext(): void {
    setImmediate(() => {
      if (this.#socket.destroyed) return;
      this.#backlog.remove(this.#unread);
      // Node closes the connection behind a response that ends it.
      const next = this.#pending[0];
      if (next !== undefined && this.#socket.writable) next.closed = next.begin();
    });
  }

  #owed(): number {
    return this.#pending.length + this.#unserved;
  }

  #holdWhereMuchIsOwed(): void {
    if (this.#isHeld || this.#discarding || this.#owed() <= OWED_MAX) return;
    this.#isHeld = true;
    this.#socket.pause();
  }

  #readOn(): void {
    this.#isHeld = false;
    this.#readOnAt = systemClock.monotonic();
    this.#awaitHead();
    this.#socket.resume();
  }

  /**
   * Called when a request has not come within its time, which node tells once. Where the connection was not read
   * meanwhile, since much was owed to it, a head has its time anew once it is read on; a body has its reader's.
   * @param ms the time of a head
   * @param late is called where the head does not come within that time, either
   * @returns false where the client is late
   */
  excusesLate(ms: number, late: () => void): boolean {
    if (!this.#isHeld && systemClock.monotonic() - this.#readOnAt >= ms) return false;
    if (this.#latest?.req.complete === false) return true;
    this.#excused = { ms, late };
    if (!this.#isHeld) this.#awaitHead();
    return true;
  }

  #awaitHead(): void {
    const excused = this.#excused;
    if (excused !== undefined) excused.timer ??= setTimeout(excused.late, excused.ms);
  }

  #headCame(): void {
    clearTimeout(this.#excused?.timer);
    this.#excused = undefined;
  }

  /**
   * The listener is about to drain: the next response ends the connection, and an idle client may still send a request.
   */
  leave(): void {
    this.#unread.lingerNoLonger();
    if (this.#isLast) return;
    this.#closing = true;
    if (this.#pending.length > 0 && this.#latest?.headersSent === false) this.#latest.shouldKeepAlive = false;
  }

  /** The listener drains: an idle connection ends now, another one with its responses. */
  close(): void {
    this.leave();
    const idle = this.#pending.length === 0 && this.#socket.bytesRead === this.#bytesReadWhenIdle;
    if (idle && !this.#discarding) this.#socket.destroy();
  }

  /** The listener ends. */
  destroy(): void {
    this.leave();
    this.#socket.destroy();
  }

  /**
   * The client has ended its side. It may still be reading, so pending responses are sent; but it may also be gone, and
   * then a held poll must not keep its slot until its time is over.
   */
  halfClosed(patienceMs: number): void {
    if (this.#pending.length === 0) return;
    const timer = setTimeout(() => this.#unread.giveUp(), patienceMs);
    this.#socket.once('close', () => clearTimeout(timer));
  }

  /** Called at regular intervals: a response that is never taken must not keep its memory for ever. */
  checkProgress(): void {
    this.#unread.check(this.#pending[0]?.response);
  }

  /** Nothing more is served, though the client may still read. */
  #ended(): void {
    this.#isLast = true;
    this.seat.leave();
  }

  /** Node has let go of the socket (CONNECT) and does not tell the pending responses that it closed; this does. */
  destroyResponsesOnClose(): void {
    this.#socket.on('close', () => {
      for (const { response } of this.#pending.slice()) response.destroy();
    });
  }

  /**
   * H21: the bytes on this connection are no request. Requests before them get their responses, then the refusal is
   * sent, and the connection closes. The parser reports the same fault again and again: only the first report counts.
   * @returns false where the bytes are the body of a request that went wrong, whose own response stands for the refusal
   */
  refuse(refusal: FixedResponse): boolean {
    if (this.#discarding) return false;
    this.#discardInput();
    const latest = this.#latest;
    if (latest !== undefined && !latest.req.complete) {
      if (!latest.headersSent) latest.shouldKeepAlive = false;
      if (this.#pending.length === 0) this.#socket.destroySoon();
      breakBody(latest.req);
      return false;
    }
    if (this.#pending.length > 0) this.#refusal = refusal;
    else this.#sendRefusal(refusal);
    return true;
  }

  // The connection is read further, within the bound of H7: otherwise the kernel would reset it under the response.
  #discardInput(): void {
    this.#discarding = true;
    if (this.#isHeld) this.#readOn();
    let discarded = 0;
    this.#socket.removeAllListeners('data');
    this.#socket.on('data', (chunk: Buffer) => {
      discarded += chunk.length;
      if (discarded > DRAIN_BYTES_MAX) this.#socket.pause();
    });
  }

  #sendRefusal(refusal: FixedResponse): void {
    if (!this.#socket.writable) {
      this.#socket.destroy();
      return;
    }
    this.#socket.end(rawResponse(refusal, isEncrypted(this.#socket)));
    const timer = setTimeout(() => this.#socket.destroy(), DRAIN_MS);
    this.#socket.once('close', () => clearTimeout(timer));
  }
}
