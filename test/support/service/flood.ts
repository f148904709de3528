import { connect, type Socket } from 'node:net';

/** Endless requests: each connection sends the next one as soon as it has any answer. */
export class Flood implements AsyncDisposable {
  /** Answers by status. */
  readonly answered = new Map<number, number>();
  readonly #sockets: Socket[] = [];
  readonly #request: (connection: number) => string;
  #ending = false;

  private constructor(request: (connection: number) => string) {
    this.#request = request;
  }

  /** @param request what the connection of that number sends; answers must have a Content-Length, or no body */
  static async start(port: number, connections: number, request: (connection: number) => string): Promise<Flood> {
    const flood = new Flood(request);
    await Promise.all(Array.from({ length: connections }, (_, number) => flood.#connect(port, number)));
    return flood;
  }

  get answers(): number {
    return [...this.answered.values()].reduce((sum, count) => sum + count, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending = true;
    await Promise.all(this.#sockets.map(async (socket) => ended(socket)));
  }

  async #connect(port: number, number: number): Promise<void> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#sockets.push(socket);
    socket.on('error', () => undefined);
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      for (let end = endOf(text); end <= text.length; end = endOf(text)) {
        const status = Number(text.slice(9, 12));
        this.answered.set(status, (this.answered.get(status) ?? 0) + 1);
        text = text.slice(end);
        if (!this.#ending) socket.write(this.#request(number));
      }
    });
    await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
    socket.write(this.#request(number));
  }
}

/** Where the first answer of the text ends; beyond the text where not all of it is there. */
function endOf(text: string): number {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return Number.POSITIVE_INFINITY;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head))?.[1];
  return head + 4 + Number(length ?? 0);
}

async function ended(socket: Socket): Promise<void> {
  socket.destroy();
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}
