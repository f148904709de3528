import type { CallOptions, Client, ClientUnaryCall, Metadata, ServiceError } from '@grpc/grpc-js';
import type { ICallable, IOptions } from 'etcd3';
// The class is not in the package's index, which is why the version is pinned. Only its construction of clients is
// used: its calls repeat commits, and when one call fails they close the connection under all others.
import { ConnectionPool } from 'etcd3/lib/connection-pool.js';
import { systemClock } from '../../../time/clock.ts';
import type { Session } from './auth-token.ts';
import { CHANNEL_OPTIONS, ChannelSockets, SOCKETS } from './channel-sockets.ts';
import {
  DeadlineExceeded,
  deadlineIn,
  halfOf,
  isReadyBy,
  leftMs,
  READY,
  type Deadline,
  type TimedOptions,
} from './deadline.ts';
import { detailsOf, isGrpcTrouble, refusesToken } from './errors.ts';

/** The certificates of a connection to etcd, as PEM. */
export interface Tls {
  readonly ca?: Buffer;
  readonly certificate?: Buffer;
  readonly key?: Buffer;
}

type Service = 'KV' | 'Watch' | 'Lease' | 'Auth' | 'Maintenance';

type UnaryDone = (error: ServiceError | null, response?: unknown) => void;

/** A method of a client as grpc-js makes it; the method's definition stands on the function. */
interface UnaryCall {
  (request: unknown, metadata: Metadata, options: CallOptions, done: UnaryDone): ClientUnaryCall;
  readonly path: string;
  readonly requestSerialize: (request: unknown) => Buffer;
}

type Decode<T> = (bytes: Buffer) => T;

interface Link {
  readonly pool: ConnectionPool;
  readonly sockets: ChannelSockets;
  readonly client: Client;
  /** The options that it was made with. */
  readonly options: IOptions;
  readonly blank: Metadata;
  /** When a call last ended in anything but silence, on the monotonic clock. */
  heardAt: number;
}

const CONNECTING = 1;
const TROUBLE_MS = 50;
const HANGS = 'the endpoint accepts connections and does not answer, or drops them silently';
/** No attempt to connect is shorter: each has half of the time that is left, and the last one all of it. */
const ATTEMPT_MS_MIN = 1000;
/** gRPC is given no deadline (deadline.ts). */
const NO_OPTIONS: CallOptions = {};

/**
 * One connection to one endpoint for one service, and the calls over it, each under the deadline of its options.
 * Rejects with the error of gRPC. A token that etcd does not take any more is replaced and the call repeated, which is
 * safe for commits too: etcd checks the token before it does anything.
 */
export class Connection implements ICallable<undefined> {
  readonly callOptionsFactory = undefined;
  readonly #service: Service;
  readonly #endpoint: string;
  #options: IOptions;
  readonly #session: Session | undefined;
  #link: Link | undefined;
  #opening: Promise<Link> | undefined;
  #closed = false;

  constructor(service: Service, endpoint: string, tls: Tls | undefined, session?: Session) {
    this.#service = service;
    this.#endpoint = endpoint;
    this.#options = optionsOf(endpoint, tls);
    this.#session = session;
  }

  get isReady(): boolean {
    return this.#link !== undefined && stateOf(this.#link) === READY;
  }

  /**
   * Resolves with undefined when the connection is established, or at the deadline with the reason why it does not. An
   * attempt that hangs is given up in time for another one: the next connection may get through.
   */
  async connect(deadline: Deadline): Promise<string | undefined> {
    for (;;) {
      const link = await this.#open();
      if (await isReadyBy(link.client, halfOf(deadline, ATTEMPT_MS_MIN))) return undefined;
      const hangs = stateOf(link) === CONNECTING;
      // gRPC would wait for ever for a peer that accepted the connection and is silent.
      if (hangs) this.renew(link);
      if (leftMs(deadline) >= ATTEMPT_MS_MIN && !this.#closed) continue;
      return hangs ? HANGS : this.#troubleOf(link);
    }
  }

  async exec<T>(_service: string, method: string, request: unknown, options: Partial<TimedOptions> = {}): Promise<T> {
    return this.decoded<T>(method, request, options, undefined);
  }

  /** As `exec`, with a decoding of the caller's own. A request that is bytes already is sent as it is. */
  async decoded<T>(
    method: string,
    request: unknown,
    options: Partial<TimedOptions>,
    decode: Decode<T> | undefined,
  ): Promise<T> {
    // The token comes first: while it is waited for, the connection may be replaced.
    const metadata = this.#session && (await this.#session.metadata(options));
    const link = this.#usable ?? (await this.#open());
    if (!this.#session || !metadata) return this.#call<T>(link, method, request, link.blank, options, decode);
    try {
      return await this.#call<T>(link, method, request, metadata, options, decode);
    } catch (error) {
      if (!(error instanceof Error && refusesToken(error.message))) throw error;
      this.#session.forget(metadata);
      const fresh = await this.#session.metadata(options);
      return this.#call<T>(this.#usable ?? (await this.#open()), method, request, fresh, options, decode);
    }
  }

  /** Opens streams. etcd ends them when this member loses its leader, instead of leaving them silent. */
  async withConnection<R>(
    _service: string,
    use: (parts: { resource: undefined; client: Client; metadata: Metadata }) => Promise<R> | R,
  ): Promise<R> {
    const token = this.#session && (await this.#session.metadata({}));
    const { client, blank } = this.#usable ?? (await this.#open());
    const metadata = (token ?? blank).clone();
    metadata.set('hasleader', 'true');
    return use({ resource: undefined, client, metadata });
  }

  async blankMetadata(): Promise<Metadata> {
    return (await this.#open()).blank.clone();
  }

  markFailed(): void {}

  /**
   * Connects by other certificates from now on. A connection that stands carries calls until one by the new ones does.
   */
  async replaceTls(tls: Tls | undefined, deadline: Deadline): Promise<void> {
    const options = optionsOf(this.#endpoint, tls);
    this.#options = options;
    if (!this.isReady) return this.renew();
    const next = await this.#linked(options);
    const isReady = await isReadyBy(next.client, deadline);
    const before = this.#link;
    if (!isReady || this.#closed || this.#options !== options) {
      next.sockets.end();
      next.pool.close();
      return;
    }
    this.#link = next;
    this.#opening = Promise.resolve(next);
    before?.pool.close();
  }

  /** Gives up the connection at hand; calls under way on it run on to their own deadlines. */
  renew(link: Link | undefined = this.#link): void {
    if (!link || link !== this.#link) return;
    this.#link = undefined;
    this.#opening = undefined;
    // A link that has not come to stand carries no call, and would stay open by itself.
    if (stateOf(link) !== READY) link.sockets.end();
    link.pool.close();
  }

  close(): void {
    this.#closed = true;
    this.#link?.sockets.end();
    this.renew();
  }

  async #open(): Promise<Link> {
    if (this.#closed) throw new Error('The connection is closed.');
    if (!this.#usable) this.renew();
    this.#opening ??= this.#openAnew();
    return this.#opening;
  }

  /** A connection by certificates that were replaced is used while it stands, and not connected again. */
  get #usable(): Link | undefined {
    const link = this.#link;
    return link && (link.options === this.#options || stateOf(link) === READY) ? link : undefined;
  }

  async #openAnew(): Promise<Link> {
    this.#link = await this.#linked(this.#options);
    if (this.#closed) this.close();
    return this.#link ?? Promise.reject(new Error('The connection is closed.'));
  }

  async #linked(options: IOptions): Promise<Link> {
    const sockets = new ChannelSockets();
    const pool = new ConnectionPool({ ...options, grpcOptions: { ...CHANNEL_OPTIONS, [SOCKETS]: sockets } });
    const { client, metadata } = await pool.withConnection(this.#service, (parts) => parts);
    return { pool, sockets, client, options, blank: metadata, heardAt: systemClock.monotonic() };
  }

  /** gRPC gives the reason only to a call: a connection that just failed refuses it at once. */
  async #troubleOf(link: Link): Promise<string> {
    try {
      await this.#call(link, 'range', {}, link.blank, { until: deadlineIn(TROUBLE_MS) });
    } catch (error) {
      if (isGrpcTrouble(error)) return detailsOf(error);
    }
    return 'the connection failed';
  }

  async #call<T>(
    link: Link,
    method: string,
    request: unknown,
    metadata: Metadata,
    { until }: Partial<TimedOptions>,
    decode?: Decode<T>,
  ): Promise<T> {
    const startedAt = systemClock.monotonic();
    const ms = until === undefined ? undefined : leftMs(until);
    if (ms === 0) throw new DeadlineExceeded('the deadline passed before the call was sent');
    return new Promise<T>((resolve, reject) => {
      let expiry: NodeJS.Timeout | undefined;
      let expired = false;
      const started = start(link.client, { method, request, metadata, decode }, (error, response) => {
        if (expired) return;
        clearTimeout(expiry);
        link.heardAt = systemClock.monotonic();
        if (error) reject(error);
        else resolve(response as T);
      });
      if (ms === undefined) return;
      expiry = setTimeout(() => {
        expired = true;
        // Nothing at all came back since the call began: the flow may be dropped, and would stay so for minutes.
        if (link.heardAt <= startedAt) this.renew(link);
        reject(new DeadlineExceeded(`no answer after ${ms} ms`));
        started.cancel();
      }, ms);
    });
  }
}

const asItIs = (request: unknown): Buffer => request as Buffer;

interface Unary {
  readonly method: string;
  readonly request: unknown;
  readonly metadata: Metadata;
  readonly decode: Decode<unknown> | undefined;
}

/** Begins a call, without a deadline. Throws where the channel was closed meanwhile. */
function start(client: Client, { method, request, metadata, decode }: Unary, done: UnaryDone): ClientUnaryCall {
  const unary = (client as unknown as { readonly [method: string]: UnaryCall })[method];
  if (!unary) throw new TypeError(`etcd has no method ${method}.`);
  const { path, requestSerialize } = unary;
  const serialize = Buffer.isBuffer(request) ? asItIs : requestSerialize;
  return withoutStack(() =>
    decode
      ? client.makeUnaryRequest(path, serialize, decode, request, metadata, NO_OPTIONS, done)
      : unary.call(client, request, metadata, NO_OPTIONS, done),
  );
}

/**
 * gRPC records the caller's stack for every call, a twentieth of a commit's processor time; the stack tells nothing
 * new.
 */
function withoutStack<T>(start: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return start();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function stateOf({ client }: Link): number {
  return client.getChannel().getConnectivityState(false);
}

function optionsOf(endpoint: string, tls: Tls | undefined): IOptions {
  if (!tls) return { hosts: [endpoint] };
  const { ca, certificate, key } = tls;
  // The package's type demands a root certificate; without one gRPC takes those of the system.
  const credentials = {
    ...(ca && { rootCertificate: ca }),
    ...(key && { privateKey: key }),
    ...(certificate && { certChain: certificate }),
  } as NonNullable<IOptions['credentials']>;
  return { hosts: [endpoint], credentials };
}
