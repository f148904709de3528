import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePorts } from '../service/free-ports.ts';

/** The bytes that get lost while a flow is silent. Neither end gets an error, as when a firewall drops a connection. */
type Silence = 'none' | 'answers' | 'everything';

/** One connection through the proxy. */
export interface Flow {
  silence: Silence;
  /** Bytes the server sent so far, those that got lost included. */
  answeredBytes: number;
  readonly ends: readonly [Socket, Socket];
}

/** A wire with faults, on an address that stays the same. */
export class TcpProxy implements AsyncDisposable {
  /** Milliseconds by which bytes come late, both ways. */
  delayMs = 0;
  /** The treatment of connections that are opened from now on. */
  silence: Silence = 'none';
  /** Called with the bytes of clients just before they go on: the listener may silence the flow in time. */
  heard: ((flow: Flow, bytes: Buffer) => void) | undefined;
  readonly flows = new Set<Flow>();
  private readonly target: number;
  private readonly server: Server;
  private readonly port: number;

  private constructor(target: number, port: number) {
    this.target = target;
    this.port = port;
    // gRPC's own sockets have no delay either; with it small messages would wait 40 ms at the proxy for
    // acknowledgements.
    this.server = createServer({ noDelay: true }, (socket) => this.accepted(socket));
  }

  static async before(target: number): Promise<TcpProxy> {
    // A port that no outgoing connection can take after `refuse`.
    const [port = 0] = await freePorts(1);
    const proxy = new TcpProxy(target, port);
    await proxy.accept();
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Accepts connections, again after `refuse`, on the same port. */
  async accept(): Promise<void> {
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  /** Cuts every connection and refuses new ones. */
  async refuse(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.cut();
    await closed;
  }

  /** Cuts connections as a reset does. */
  cut(which: (flow: Flow) => boolean = () => true): void {
    for (const flow of [...this.flows].filter(which)) {
      // A reset is refused to a socket that is ending; it would never close, and Node would wait for it without end.
      for (const end of flow.ends) {
        if (end.writableEnded) end.destroy();
        else end.resetAndDestroy();
      }
    }
  }

  /** Silences the connections that there are, and leaves later ones alone. */
  silenceFlows(silence: Silence): void {
    for (const flow of this.flows) flow.silence = silence;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.server.listening) await this.refuse();
  }

  private accepted(client: Socket): void {
    const server = connect({ port: this.target, host: '127.0.0.1', noDelay: true });
    const flow: Flow = { silence: this.silence, answeredBytes: 0, ends: [client, server] };
    this.flows.add(flow);
    server.on('data', (bytes) => (flow.answeredBytes += bytes.length));
    client.on('data', (bytes) => this.heard?.(flow, bytes));
    this.forward(flow, client, server, () => flow.silence !== 'everything');
    this.forward(flow, server, client, () => flow.silence === 'none');
  }

  private forward(flow: Flow, from: Socket, to: Socket, passes: () => boolean): void {
    from.on('data', (bytes) => this.later(() => passes() && to.writable && to.write(bytes)));
    from.on('end', () => this.later(() => passes() && to.end()));
    from.on('error', () => undefined);
    from.on('close', () => {
      // The other end of a silent flow stays open, and is still to be cut.
      if (flow.ends.every((end) => end.destroyed)) this.flows.delete(flow);
      this.later(() => passes() && to.destroy());
    });
  }

  private later(act: () => void): void {
    if (this.delayMs > 0) setTimeout(act, this.delayMs);
    else act();
  }
}
