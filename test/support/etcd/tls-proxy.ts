import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type TLSSocket } from 'node:tls';
import type { Certificates } from '../http/certificates.ts';

/** Stands before an etcd with TLS, and tells by which certificates its clients have connected. */
export class TlsProxy implements AsyncDisposable {
  /** The names of the certificates of the connections that are open. */
  readonly #open = new Map<TLSSocket, string>();
  readonly #server: Server;

  private constructor(port: number, { ca, certificate, key }: Certificates, server: Omit<Certificates, 'serverFlags'>) {
    const settings = { key: server.key, cert: server.certificate, ca: server.ca, requestCert: true };
    this.#server = createServer({ ...settings, ALPNProtocols: ['h2'], noDelay: true }, (client) => {
      const etcd = connect({ port, host: '127.0.0.1', ca, cert: certificate, key, ALPNProtocols: ['h2'] });
      this.#open.set(client, String(client.getPeerCertificate().subject.CN));
      client.pipe(etcd).pipe(client);
      for (const [one, other] of [
        [client, etcd],
        [etcd, client],
      ] as const) {
        one.on('error', () => undefined);
        one.once('close', () => other.destroy());
      }
      client.once('close', () => this.#open.delete(client));
    });
  }

  /**
   * @param port of etcd
   * @param client is presented to etcd
   * @param server is presented to clients; its authorities are those that they are let in by
   */
  static async before(
    port: number,
    client: Certificates,
    server: Omit<Certificates, 'serverFlags'>,
  ): Promise<TlsProxy> {
    const proxy = new TlsProxy(port, client, server);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How many connections there are by the certificate of this name. */
  countOf(name: string): number {
    return [...this.#open.values()].filter((one) => one === name).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#open.keys()) socket.destroy();
    await closed;
  }
}
