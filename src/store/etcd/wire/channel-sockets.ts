import { once } from 'node:events';
import { createRequire } from 'node:module';
import { connect, isIP, type Socket, type TcpNetConnectOpts } from 'node:net';
import type { IOptions } from 'etcd3';

/*
 * grpc-js 1.14 lets go of a connection attempt without closing it: the class that connects holds no socket before
 * HTTP/2 begins on it, and closing the channel ends neither a TCP connection that is being made nor a TLS handshake. A
 * peer that accepts connections and is silent would then hold a socket, and with it the process, for ever; packets
 * that are dropped would hold both until the kernel gives up, two minutes later. The channel has no option for it, so
 * its way to open a TCP connection is replaced, for the channels that ask for it by an option.
 */

/** The option of a channel that holds its `ChannelSockets`; grpc-js hands on the options that it does not know. */
export const SOCKETS = 'muster.sockets';

/** The options of every channel to etcd. */
export const CHANNEL_OPTIONS: NonNullable<IOptions['grpcOptions']> = {
  // A watch whose flow is dropped silently ends within 9 s; etcd bars clients that ping more often than every 5 s.
  // Pings without calls stay off: etcd counts them as an attack, hangs up after 24 s, and the interval doubles each
  // time. A connection without a watch needs none, since a call that meets silence renews it.
  'grpc.keepalive_time_ms': 6000,
  'grpc.keepalive_timeout_ms': 3000,
  // A connection for each service: a watch that catches up does not stand in the way of the small reads.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  // Unbounded: what bounds an answer is the page limit. etcd does not fragment what it sends first to a watch that
  // resumes, up to 1000 revisions at once, and a client with a limit would fail there for ever.
  'grpc.max_receive_message_length': -1,
  // A commit is sent once; reads are repeated by our own rules. Without retries and channelz a call took 391 instead of
  // 592 µs of processor time, measured once.
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  'grpc.service_config_disable_resolution': 1,
  // A member that comes back may have another address, as a pod has. gRPC looks a name up again 30 s after the last
  // time at the soonest, unless it is told otherwise: a single member was found again after 27 s, and within half a
  // second so.
  'grpc.dns_min_time_between_resolutions_ms': 1000,
  // The variables `http_proxy`, `https_proxy` and `grpc_proxy` are about calls to the outside; etcd is a part of the
  // installation, and a proxy between would see, hold or break every read and every lease.
  'grpc.enable_http_proxy': 0,
};

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

/** The part of gRPC that begins TLS on a connection; one without TLS has no options. */
interface SecureConnector {
  readonly connectionOptions?: { servername?: string };
}
type Connect = (this: object, address: object, secure: SecureConnector, options: Options) => Promise<unknown>;

interface Connector {
  tcpConnect: TcpConnect;
  connect: Connect;
}

interface Transport {
  readonly Http2SubchannelConnector?: { readonly prototype: Partial<Connector> };
}

/** The version in which the way to open a connection is known; package.json names it. */
const FITTING = '1.14.7';

/** The class of gRPC that connects, as etcd3 has it: the one whose channels are used. @throws Error in one sentence */
function connectorOfEtcd3(): Connector {
  const ofEtcd3 = createRequire(createRequire(import.meta.url).resolve('etcd3/lib/connection-pool.js'));
  const { version } = ofEtcd3('@grpc/grpc-js/package.json') as { readonly version: string };
  const prototype = transportIn(ofEtcd3)?.Http2SubchannelConnector?.prototype;
  if (typeof prototype?.tcpConnect === 'function' && typeof prototype.connect === 'function') {
    return prototype as Connector;
  }
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
const { tcpConnect, connect: connectSubchannel } = connector;
connector.tcpConnect = async function (address, options) {
  const sockets = options[SOCKETS];
  return sockets instanceof ChannelSockets ? sockets.connect(address) : tcpConnect.call(this, address, options);
};

/*
 * grpc-js names the server in the handshake as the endpoint does. An address is no such name (RFC 6066, 3): Node warns
 * of it (DEP0123), and checks the certificate by the host alike without it.
 */
connector.connect = async function (address, secure, options) {
  const named = secure.connectionOptions;
  if (named?.servername !== undefined && isIP(named.servername) !== 0) delete named.servername;
  return connectSubchannel.call(this, address, secure, options);
};
