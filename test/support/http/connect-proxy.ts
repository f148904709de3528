import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

interface Seen {
  /** `CONNECT`, or the method of a request that it forwards. */
  readonly method: string;
  /** `HOST:PORT` of a tunnel, or the whole URL. */
  readonly target: string;
  /** The `Proxy-Authorization` of the request. */
  readonly credentials: string | undefined;
}

/** A proxy of HTTP as companies have it: it makes tunnels by CONNECT, and forwards requests in the absolute form. */
export class ConnectProxy implements AsyncDisposable {
  readonly seen: Seen[] = [];
  /** Where a host is, in place of its own address: names that exist for this proxy alone. */
  readonly places = new Map<string, { readonly host: string; readonly port: number }>();
  /** What it does in place of its work: refuses with the status, or is silent. */
  instead: number | 'silence' | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server = createServer((incoming, answer) => this.#forward(incoming, answer));
    this.#server.on('connection', (socket: Socket) => this.#keep(socket));
    this.#server.on('connect', (incoming: IncomingMessage, socket: Socket) => this.#tunnel(incoming, socket));
  }

  static async start(): Promise<ConnectProxy> {
    const proxy = new ConnectProxy();
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Connections that are open, to it and from it. */
  get open(): number {
    return this.#sockets.size;
  }

  get targets(): string[] {
    return this.seen.map(({ method, target }) => `${method} ${target}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, 'close');
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket);
    return socket.on('error', () => undefined).once('close', () => this.#sockets.delete(socket));
  }

  #note({ method = '', url = '', headers }: IncomingMessage): void {
    this.seen.push({ method, target: url, credentials: headers['proxy-authorization'] });
  }

  #placeOf(hostname: string, port: string): { readonly host: string; readonly port: number } {
    return this.places.get(hostname) ?? { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) };
  }

  #tunnel(incoming: IncomingMessage, socket: Socket): void {
    this.#note(incoming);
    if (this.instead === 'silence') return;
    if (this.instead !== undefined) return void socket.end(`HTTP/1.1 ${this.instead} Refused\r\n\r\n`);
    const { hostname, port } = new URL(`tunnel://${incoming.url}`);
    const onward = this.#keep(connect(this.#placeOf(hostname, port)));
    onward.once('connect', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    onward.once('close', () => socket.destroy());
    socket.once('close', () => onward.destroy());
  }

  #forward(incoming: IncomingMessage, answer: ServerResponse): void {
    this.#note(incoming);
    if (this.instead === 'silence') return;
    if (this.instead !== undefined) return void answer.writeHead(this.instead).end();
    const { hostname, port, host, pathname, search } = new URL(incoming.url ?? '');
    const onward = request({
      ...this.#placeOf(hostname, port),
      method: incoming.method,
      path: pathname + search,
      headers: { ...incoming.headers, host },
    });
    onward.once('response', (response) => {
      answer.writeHead(response.statusCode ?? 0, response.headers);
      response.pipe(answer);
    });
    onward.once('error', () => answer.destroy());
    incoming.pipe(onward);
  }
}
