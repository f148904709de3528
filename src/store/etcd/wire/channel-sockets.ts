import { once } from 'node:events';
import { createRequire } from 'node:module';
import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';

/*
 * grpc-js 1.14 lets go of a connection attempt without closing it: the class that connects holds no socket before
 * HTTP/2 begins on it, and closing the channel ends neither a TCP connection that is being made nor a TLS handshake. A
 * peer that accepts connections and is silent would then hold a socket, and with it the process, for ever; packets
 * that are dropped would hold both until the kernel gives up, two minutes later. The channel has no option for it, so
 * its way to open a TCP connection is replaced, for the channels that ask for it by an option.
 */

/** The option of a channel that holds its `ChannelSockets`; grpc-js hands on the options that it does not know. */
export const SOCKETS = 'muster.sockets';

/** The TCP connections of one channel, from their beginning on. */
export class ChannelSockets {
  readonly #open = new Set<Socket>();
  #ended = false;

  /** @throws the error of the system, or Error once the channel is closed */
  async connect(address: TcpNetConnectOpts): Promise<Socket> {
    if (this.#ended) throw new Error('The channel is closed.');
    const socket = connect(address);
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    // A socket that is destroyed while it connects has no error of its own.
    const closed = new AbortController();
    const close = (): void => closed.abort();
    socket.once('close', close);
    try {
      await once(socket, 'connect', { signal: closed.signal });
      return socket;
    } finally {
      socket.off('close', close);
    }
  }

  /** Closes every connection at once, and opens no further one. */
  end(): void {
    this.#ended = true;
    for (const socket of this.#open) socket.destroy();
  }
}

type Options = Readonly<Record<string, unknown>>;
type TcpConnect = (this: object, address: TcpNetConnectOpts, options: Options) => Promise<Socket>;

interface Transport {
  readonly Http2SubchannelConnector?: { readonly prototype: { tcpConnect?: TcpConnect } };
}

/** The version in which the way to open a connection is known; package.json names it. */
const FITTING = '1.14.7';

/** The class of gRPC that connects, as etcd3 has it: the one whose channels are used. @throws Error in one sentence */
function connectorOfEtcd3(): { tcpConnect: TcpConnect } {
  const ofEtcd3 = createRequire(createRequire(import.meta.url).resolve('etcd3/lib/connection-pool.js'));
  const { version } = ofEtcd3('@grpc/grpc-js/package.json') as { readonly version: string };
  const prototype = transportIn(ofEtcd3)?.Http2SubchannelConnector?.prototype;
  if (typeof prototype?.tcpConnect === 'function') return prototype as { tcpConnect: TcpConnect };
  throw new Error(
    `@grpc/grpc-js ${version} does not fit: it lacks Http2SubchannelConnector.tcpConnect, without which a silent etcd holds connections for ever; install version ${FITTING}.`,
  );
}

function transportIn(require: NodeJS.Require): Transport | undefined {
  try {
    return require('@grpc/grpc-js/build/src/transport.js') as Transport;
  } catch {
    return undefined;
  }
}

const connector = connectorOfEtcd3();
const { tcpConnect } = connector;
connector.tcpConnect = async function (address, options) {
  const sockets = options[SOCKETS];
  // A proxy is spoken to before, by grpc-js itself.
  const direct = !('grpc.http_connect_target' in options);
  return sockets instanceof ChannelSockets && direct
    ? sockets.connect(address)
    : tcpConnect.call(this, address, options);
};
