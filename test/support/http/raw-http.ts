import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** One answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  /** Names in lower case; the values of a repeated name in the order sent. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly body: string;
  /** Status line, headers and body, byte for byte (latin1). */
  readonly raw: string;
}

/** A TCP connection that sends bytes as they are given, and reads HTTP answers one by one. */
export class RawConnection implements AsyncDisposable {
  readonly socket: Socket;
  #received = '';
  #ended = false;
  #wake: () => void = () => {};

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      this.#received += text;
      this.#wake();
    });
    const end = (): void => {
      this.#ended = true;
      this.#wake();
    };
    socket.on('end', end).on('close', end).on('error', end);
  }

  /** Resolves when the kernel has the bytes, or when it will never have them. */
  async send(bytes: string | Buffer): Promise<void> {
    await new Promise<void>((resolve) => {
      this.socket.write(bytes, () => resolve());
    });
  }

  /** Says that no more will be sent, and goes on reading. */
  halfClose(): void {
    this.socket.end();
  }

  /** Gone without a word: the other side sees a reset. */
  reset(): void {
    this.socket.resetAndDestroy();
  }

  /**
   * The next answer, 100 Continue included. Of an answer to HEAD no body is awaited. Throws when the other side ends
   * first.
   */
  async answer(request: { method?: 'HEAD' } = {}): Promise<RawAnswer> {
    for (;;) {
      const answer = takeAnswer(this.#received, request.method === 'HEAD');
      if (answer !== undefined) {
        this.#received = this.#received.slice(answer.raw.length);
        return answer;
      }
      if (this.#ended) throw new Error(`ended before an answer, after ${JSON.stringify(this.#received.slice(0, 200))}`);
      await this.#more();
    }
  }

  /** All that still comes until the other side ends (latin1). */
  async rest(): Promise<string> {
    while (!this.#ended) await this.#more();
    const rest = this.#received;
    this.#received = '';
    return rest;
  }

  async closed(): Promise<void> {
    // Not by events.once, which throws the error that came before.
    if (!this.socket.closed) await new Promise<void>((resolve) => this.socket.once('close', () => resolve()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy();
    await this.closed();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** Connects to a port of this machine; stays open for writing when the other side ends. */
export async function connectRaw(port: number): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  await once(socket, 'connect');
  return new RawConnection(socket);
}

/** Sends the bytes on a connection of their own and gives the one answer. */
export async function exchange(port: number, bytes: string | Buffer): Promise<RawAnswer> {
  await using connection = await connectRaw(port);
  await connection.send(bytes);
  return await connection.answer();
}

/** Names in lower case. */
export function header(answer: RawAnswer, name: string): string | undefined {
  return answer.headers.get(name)?.join(', ');
}

function takeAnswer(received: string, bodyless: boolean): RawAnswer | undefined {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [statusLine = '', ...lines] = received.slice(0, headEnd).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), line.slice(colon + 1).trim()]);
  }
  const lengthless = bodyless || status < 200 || status === 204 || status === 304;
  const body = lengthless ? '' : takeBody(received.slice(headEnd + 4), headers);
  if (body === undefined) return undefined;
  const raw = received.slice(0, headEnd + 4 + body.length);
  return { status, headers, body: Buffer.from(body, 'latin1').toString('utf8'), raw };
}

function takeBody(received: string, headers: ReadonlyMap<string, readonly string[]>): string | undefined {
  const length = Number(headers.get('content-length')?.[0]);
  if (Number.isNaN(length)) throw new Error('an answer without Content-Length');
  return received.length < length ? undefined : received.slice(0, length);
}
