import type { CallOptions, Client, Metadata, ServiceError } from '@grpc/grpc-js';
import type { ICallable, IOptions } from 'etcd3';
// Not in the package's index, which is why the version is pinned. Only its making of clients is used: its calls repeat
// commits, and tear down the connection under everybody else's call when one call fails.
import { ConnectionPool } from 'etcd3/lib/connection-pool.js';
import type { Session } from './auth-token.ts';
import { GRPC, isGrpcTrouble, refusesToken } from './errors.ts';

export interface Tls {
  readonly ca?: Buffer;
  readonly certificate?: Buffer;
  readonly key?: Buffer;
}

export type Service = 'KV' | 'Watch' | 'Lease' | 'Auth' | 'Maintenance';

type UnaryDone = (error: ServiceError | null, response?: unknown) => void;

/** As grpc-js makes it of a method's definition, which it puts beside it. */
interface UnaryCall {
  (request: unknown, metadata: Metadata, options: CallOptions, done: UnaryDone): void;
  readonly path: string;
  readonly requestSerialize: (request: unknown) => Buffer;
}

type Decode<T> = (bytes: Buffer) => T;

interface Link {
  readonly pool: ConnectionPool;
  readonly client: Client;
  readonly blank: Metadata;
  /** When a call last ended in anything but silence, on the monotonic clock. */
  heardAt: number;
}

const CONNECTING = 1;
const READY = 2;
const TROUBLE_MS = 50;

const CHANNEL_OPTIONS: NonNullable<IOptions['grpcOptions']> = {
  // A watch whose flow is dropped silently ends within 9 s; etcd bars clients that ping more often than every 5 s.
  // Not "without calls": etcd counts such pings as an attack, hangs up after 24 s and the interval doubles each time.
  // A connection without a watch needs none, since a call that meets silence renews it.
  'grpc.keepalive_time_ms': 6000,
  'grpc.keepalive_timeout_ms': 3000,
  // A connection for each service: a watch that catches up does not stand in the way of the small reads.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  // Unbounded: what bounds an answer is the page limit. etcd does not fragment what it sends first to a watch that
  // resumes, up to 1000 revisions at once, and a client with a limit would fail there for ever.
  'grpc.max_receive_message_length': -1,
  // A commit is sent once; reads are repeated by our own rules. Without the two a call cost 391 instead of 592 µs of processor, measured once.
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  'grpc.service_config_disable_resolution': 1,
};

/**
 * One connection to one endpoint for one service, and the calls over it, each under the deadline of its options.
 * Rejects with the error of gRPC. A token that etcd does not take any more is replaced and the call repeated, which is
 * safe for commits too: etcd looks at the token before it does anything.
 */
export class Connection implements ICallable<undefined> {
  readonly callOptionsFactory = undefined;
  private readonly service: Service;
  private readonly options: IOptions;
  private readonly session: Session | undefined;
  private link: Link | undefined;
  private opening: Promise<Link> | undefined;
  private closed = false;

  constructor(service: Service, endpoint: string, tls: Tls | undefined, session?: Session) {
    this.service = service;
    this.options = { hosts: [endpoint], grpcOptions: CHANNEL_OPTIONS, ...(tls && { credentials: credentialsOf(tls) }) };
    this.session = session;
  }

  get isReady(): boolean {
    return this.link !== undefined && stateOf(this.link) === READY;
  }

  /** Resolves with why there is no connection at the deadline, or with nothing when it stands. */
  async connect(deadline: number): Promise<string | undefined> {
    const link = await this.open();
    const failure = await new Promise<Error | undefined>((resolve) => {
      link.client.waitForReady(deadline, resolve);
    });
    if (!failure) return undefined;
    if (stateOf(link) !== CONNECTING) return this.troubleOf(link);
    // gRPC would wait for ever for a peer that accepted the connection and is silent.
    this.renew(link);
    return 'the endpoint accepts connections and does not answer, or drops them silently';
  }

  async exec<T>(_service: string, method: string, request: unknown, options: CallOptions = {}): Promise<T> {
    return this.decoded<T>(method, request, options, undefined);
  }

  /** As `exec`, with a decoding of one's own. */
  async decoded<T>(method: string, request: unknown, options: CallOptions, decode: Decode<T> | undefined): Promise<T> {
    const link = this.link ?? (await this.open());
    if (!this.session) return this.call<T>(link, method, request, link.blank, options, decode);
    const metadata = await this.session.metadata(options);
    try {
      return await this.call<T>(link, method, request, metadata, options, decode);
    } catch (error) {
      if (!(error instanceof Error && refusesToken(error.message))) throw error;
      this.session.forget(metadata);
      const fresh = await this.session.metadata(options);
      return this.call<T>(await this.open(), method, request, fresh, options, decode);
    }
  }

  /** For streams: etcd ends them when this member loses its leader, instead of leaving them silent. */
  async withConnection<R>(
    _service: string,
    use: (parts: { resource: undefined; client: Client; metadata: Metadata }) => Promise<R> | R,
  ): Promise<R> {
    const { client, blank } = await this.open();
    const metadata = ((await this.session?.metadata({})) ?? blank).clone();
    metadata.set('hasleader', 'true');
    return use({ resource: undefined, client, metadata });
  }

  async blankMetadata(): Promise<Metadata> {
    return (await this.open()).blank.clone();
  }

  markFailed(): void {}

  /** Lets go of the connection at hand; calls under way on it run on to their own deadlines. */
  renew(link: Link | undefined = this.link): void {
    if (!link || link !== this.link) return;
    this.link = undefined;
    this.opening = undefined;
    link.pool.close();
  }

  close(): void {
    this.closed = true;
    this.renew();
  }

  private async open(): Promise<Link> {
    if (this.closed) throw new Error('The connection is closed.');
    this.opening ??= this.openAnew();
    return this.opening;
  }

  private async openAnew(): Promise<Link> {
    const pool = new ConnectionPool(this.options);
    const { client, metadata } = await pool.withConnection(this.service, (parts) => parts);
    this.link = { pool, client, blank: metadata, heardAt: performance.now() };
    if (this.closed) this.renew();
    return this.link ?? Promise.reject(new Error('The connection is closed.'));
  }

  /** The words are only to be had from a call: a connection that just failed refuses it at once. */
  private async troubleOf(link: Link): Promise<string> {
    try {
      await this.call(link, 'range', {}, link.blank, { deadline: Date.now() + TROUBLE_MS });
    } catch (error) {
      if (isGrpcTrouble(error)) return error.details;
    }
    return 'the connection failed';
  }

  private async call<T>(
    link: Link,
    method: string,
    request: unknown,
    metadata: Metadata,
    options: CallOptions,
    decode?: Decode<T>,
  ): Promise<T> {
    const startedAt = performance.now();
    return new Promise<T>((resolve, reject) => {
      const client = link.client as unknown as { readonly [method: string]: UnaryCall };
      const unary = client[method];
      if (!unary) throw new TypeError(`etcd has no method ${method}.`);
      const done: UnaryDone = (error, response) => {
        const code: number | undefined = error?.code;
        if (code !== GRPC.deadlineExceeded) link.heardAt = performance.now();
        // Nothing at all came back since the call began: the flow may be dropped, and would stay so for minutes.
        else if (link.heardAt <= startedAt) this.renew(link);
        if (error) reject(error);
        else resolve(response as T);
      };
      withoutStack(() => {
        if (!decode) unary.call(client, request, metadata, options, done);
        else link.client.makeUnaryRequest(unary.path, unary.requestSerialize, decode, request, metadata, options, done);
      });
    });
  }
}

/** gRPC notes the caller's stack for every call, a twentieth of all that a commit computes; it tells what is known. */
function withoutStack(start: () => void): void {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    start();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function stateOf({ client }: Link): number {
  return client.getChannel().getConnectivityState(false);
}

function credentialsOf({ ca, certificate, key }: Tls): NonNullable<IOptions['credentials']> {
  // The package's type demands a root certificate; without one gRPC takes those of the system.
  return {
    ...(ca && { rootCertificate: ca }),
    ...(key && { privateKey: key }),
    ...(certificate && { certChain: certificate }),
  } as NonNullable<IOptions['credentials']>;
}
