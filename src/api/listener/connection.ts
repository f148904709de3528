import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { breakBody } from '../http/broken-body.ts';
import { DRAIN_BYTES_MAX, DRAIN_MS, freshId } from '../http/response.ts';

/** An answer that is the same for everyone; the body is JSON. */
export interface FixedResponse {
  readonly status: number;
  readonly body: string;
}

/** What a listener keeps of one TCP connection: which answers it owes, and how the connection is to end. */
export class Connection {
  readonly #socket: Socket;
  /** Answers that are not yet with the kernel, oldest first; more than one where the client pipelines. */
  readonly #pending: ServerResponse[] = [];
  /** Still there after its answer where its body is not yet through. */
  #latest: ServerResponse | undefined;
  #ended: ServerResponse | undefined;
  #bytesReadWhenIdle = 0;
  #closing = false;
  /** HTTP has ended on this connection: what still arrives is thrown away. */
  #discarding = false;
  #refusal: FixedResponse | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /**
   * Takes note of a request; false where it must not be served because an answer before it ended the connection (RFC
   * 9112, 9.6): its own answer could never be sent.
   */
  began(response: ServerResponse): boolean {
    const before = this.#pending.at(-1);
    if (before?.headersSent === true && !before.shouldKeepAlive) return false;
    if (this.#closing) {
      // Only the newest may close: an answer that closes is the last one that its client gets.
      if (before !== undefined) before.shouldKeepAlive = true;
      response.shouldKeepAlive = false;
    }
    this.#pending.push(response);
    this.#latest = response;
    return true;
  }

  responded(response: ServerResponse): void {
    if (this.#pending[0] === response) this.#pending.shift();
    else this.#pending.splice(this.#pending.indexOf(response), 1);
    if (this.#pending.length > 0) return;
    if (this.#latest?.req.complete === true) this.#latest = undefined;
    this.#bytesReadWhenIdle = this.#socket.bytesRead;
    if (this.#refusal !== undefined) this.#sendRefusal(this.#refusal);
    else if (this.#closing || this.#discarding) this.#socket.destroySoon();
  }

  /** The listener is about to drain: the next answer ends the connection, and an idle one may still ask. */
  leave(): void {
    this.#closing = true;
    if (this.#pending.length > 0 && this.#latest?.headersSent === false) this.#latest.shouldKeepAlive = false;
  }

  /** The listener drains: an idle connection ends now, another one with its answers. */
  close(): void {
    this.leave();
    const idle = this.#pending.length === 0 && this.#socket.bytesRead === this.#bytesReadWhenIdle;
    if (idle && !this.#discarding) this.#socket.destroy();
  }

  /**
   * The client will send no more. It may still be reading, so what it is owed is sent; but it may as well be gone, and
   * then a held poll must not keep its place until its time is over.
   */
  halfClosed(patienceMs: number): void {
    if (this.#pending.length > 0) this.#destroyIn(patienceMs);
  }

  /**
   * Called every now and then: an answer that is complete, and that its client has not taken between one call and the
   * next, will never be, and must not keep its place for ever.
   */
  checkProgress(): void {
    const response = this.#pending[0];
    const ended = response?.writableEnded === true ? response : undefined;
    if (ended !== undefined && ended === this.#ended) this.#socket.destroy();
    this.#ended = ended;
  }

  /** Where node has let go of the socket (CONNECT), nobody else tells the open answers that it closed. */
  destroyResponsesOnClose(): void {
    this.#socket.on('close', () => {
      for (const response of this.#pending.slice()) response.destroy();
    });
  }

  /**
   * H21: what arrives here is no request. Whoever asked before gets an answer, then this gets the refusal, then the
   * connection closes. Where it is the body of a request that went wrong, that request's own answer stands for it, and
   * this is false. The parser reports the same trouble again and again: only the first time counts.
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

  // Reading on, within the bound of H7, is what keeps the kernel from resetting the connection under the answer.
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
    `Date: ${new Date().toUTCString()}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
