import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { systemClock } from '../../time/clock.ts';
import { breakBody } from '../http/broken-body.ts';
import { DRAIN_BYTES_MAX, DRAIN_MS, freshId } from '../http/response.ts';

/** A response that is the same for everyone; the body is JSON. */
export interface FixedResponse {
  readonly status: number;
  readonly body: string;
}

/** The state of one TCP connection: its pending responses, and how it is to end. */
export class Connection {
  readonly #socket: Socket;
  /** Responses that the kernel does not have yet, oldest first; more than one where the client pipelines. */
  readonly #pending: ServerResponse[] = [];
  /** The latest request's response; kept after it was sent while the body of its request is still on its way. */
  #latest: ServerResponse | undefined;
  #ended: ServerResponse | undefined;
  #bytesReadWhenIdle = 0;
  #closing = false;
  /** HTTP has ended on this connection: bytes that still arrive are discarded. */
  #discarding = false;
  #refusal: FixedResponse | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /**
   * Registers a request.
   * @returns false where it must not be served because a response before it ends the connection (RFC 9112, 9.6): its
   * own could never be sent
   */
  began(response: ServerResponse): boolean {
    const before = this.#pending.at(-1);
    if (before?.headersSent === true && !before.shouldKeepAlive) return false;
    if (this.#closing) {
      // Only the newest response may close: no other reaches the client after one that closes.
      if (before !== undefined) before.shouldKeepAlive = true;
      response.shouldKeepAlive = false;
    }
    this.#pending.push(response);
    this.#latest = response;
    return true;
  }

  /** The kernel has the response, or its connection is closed. */
  responded(response: ServerResponse): void {
    if (this.#pending[0] === response) this.#pending.shift();
    else this.#pending.splice(this.#pending.indexOf(response), 1);
    if (this.#pending.length > 0) return;
    if (this.#latest?.req.complete === true) this.#latest = undefined;
    this.#bytesReadWhenIdle = this.#socket.bytesRead;
    if (this.#refusal !== undefined) this.#sendRefusal(this.#refusal);
    else if (this.#closing || this.#discarding) this.#socket.destroySoon();
  }

  /**
   * The listener is about to drain: the next response ends the connection, and an idle client may still send a request.
   */
  leave(): void {
    this.#closing = true;
    if (this.#pending.length > 0 && this.#latest?.headersSent === false) this.#latest.shouldKeepAlive = false;
  }

  /** The listener drains: an idle connection ends now, another one with its responses. */
  close(): void {
    this.leave();
    const idle = this.#pending.length === 0 && this.#socket.bytesRead === this.#bytesReadWhenIdle;
    if (idle && !this.#discarding) this.#socket.destroy();
  }

  /**
   * The client has ended its side. It may still be reading, so pending responses are sent; but it may also be gone, and
   * then a held poll must not keep its slot until its time is over.
   */
  halfClosed(patienceMs: number): void {
    if (this.#pending.length > 0) this.#destroyIn(patienceMs);
  }

  /**
   * Called at regular intervals. A complete response that the client has not taken between two calls will never be
   * taken, and must not keep its slot for ever.
   */
  checkProgress(): void {
    const response = this.#pending[0];
    const ended = response?.writableEnded === true ? response : undefined;
    if (ended !== undefined && ended === this.#ended) this.#socket.destroy();
    this.#ended = ended;
  }

  /** Node has let go of the socket (CONNECT) and does not tell the pending responses that it closed; this does. */
  destroyResponsesOnClose(): void {
    this.#socket.on('close', () => {
      for (const response of this.#pending.slice()) response.destroy();
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
    this.#socket.end(rawResponse(refusal));
    this.#destroyIn(DRAIN_MS);
  }

  #destroyIn(ms: number): void {
    const timer = setTimeout(() => this.#socket.destroy(), ms);
    this.#socket.once('close', () => clearTimeout(timer));
  }
}

function rawResponse({ status, body }: FixedResponse): string {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json',
    'Cache-Control: no-store',
    `X-Request-Id: ${freshId()}`,
    `Date: ${new Date(systemClock.now()).toUTCString()}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
