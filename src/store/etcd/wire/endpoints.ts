import { setTimeout as sleep } from 'node:timers/promises';
import { KVClient, LeaseClient, MaintenanceClient, WatchClient, type IRangeRequest, type ITxnRequest } from 'etcd3';
import { jitter } from '../../../time/jitter.ts';
import { StoreUnavailable } from '../../port.ts';
import { Session, type UserAndPassword } from './auth-token.ts';
import { Connection, type Tls } from './channel.ts';
import { DeadlineExceeded, deadlineIn, halfOf, leftMs, type Deadline, type TimedOptions } from './deadline.ts';
import { refusesPassword, refusesToken, unavailable } from './errors.ts';
import { decodeStatus, type Status } from './status.ts';
import type { WatchOutcome } from './watch.ts';

/** The first pause before a read is repeated at an endpoint that failed it; it doubles, within the call's deadline. */
const READ_PAUSE_MS = 50;

/** One member of etcd, or an address that stands for several. */
export class Endpoint {
  readonly url: string;
  readonly kv: KVClient;
  readonly watch: WatchClient;
  readonly lease: LeaseClient;
  readonly maintenance: MaintenanceClient;
  readonly #watchConnection: Connection;
  readonly #kvConnection: Connection;
  readonly #leaseConnection: Connection;
  readonly #maintenanceConnection: Connection;
  readonly #session: Session | undefined;
  #present: Tls | undefined;

  constructor(url: string, tls: Tls | undefined, user: UserAndPassword | undefined) {
    this.url = url;
    this.#present = tls;
    this.#session = user && new Session(() => new Connection('Auth', url, this.#present), user);
    this.#kvConnection = new Connection('KV', url, tls, this.#session);
    this.#watchConnection = new Connection('Watch', url, tls, this.#session);
    this.#leaseConnection = new Connection('Lease', url, tls, this.#session);
    this.#maintenanceConnection = new Connection('Maintenance', url, tls, this.#session);
    this.kv = new KVClient(this.#kvConnection);
    this.watch = new WatchClient(this.#watchConnection);
    this.lease = new LeaseClient(this.#leaseConnection);
    this.maintenance = new MaintenanceClient(this.#maintenanceConnection);
  }

  get isReady(): boolean {
    return this.#kvConnection.isReady;
  }

  /** The certificates at present. */
  get tls(): Tls | undefined {
    return this.#present;
  }

  /** Connects and authenticates by other certificates and another password from now on. Never rejects. */
  async renew(tls: Tls | undefined, user: UserAndPassword | undefined, deadline: Deadline): Promise<void> {
    if (user) this.#session?.renew(user);
    if (areSame(tls, this.#present)) return;
    this.#present = tls;
    const all = [this.#kvConnection, this.#watchConnection, this.#leaseConnection, this.#maintenanceConnection];
    // A connection that does not come about is tried again by the next call.
    await Promise.allSettled(all.map(async (connection) => connection.replaceTls(tls, deadline)));
  }

  /** Whether etcd takes this user's password; undefined where it does not answer. */
  async takes(user: UserAndPassword, deadline: Deadline): Promise<boolean | undefined> {
    try {
      await this.#session?.prove(user, deadline);
      return true;
    } catch (error) {
      return refusesPassword(error) ? false : undefined;
    }
  }

  /** Resolves with undefined when the connection is established, or at the deadline with the reason why it does not. */
  async connect(deadline: Deadline): Promise<string | undefined> {
    return this.#kvConnection.connect(deadline);
  }

  async range<T>(request: IRangeRequest, options: TimedOptions, decode: (bytes: Buffer) => T): Promise<T> {
    return this.#kvConnection.decoded('range', request, options, decode);
  }

  /** @param request an object, or the bytes of a TxnRequest */
  async txn<T>(request: ITxnRequest | Buffer, options: TimedOptions, decode: (bytes: Buffer) => T): Promise<T> {
    return this.#kvConnection.decoded('txn', request, options, decode);
  }

  async status(options: TimedOptions): Promise<Status> {
    return this.#maintenanceConnection.decoded('status', {}, options, decodeStatus);
  }

  /** etcd renews leases over streams alone. Each call opens its own, and so has an answer and a deadline of its own. */
  async renewLease(id: string, deadline: Deadline): Promise<'renewed' | 'gone'> {
    const stream = await this.lease.leaseKeepAlive();
    let expiry: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        expiry = setTimeout(() => reject(new DeadlineExceeded('no answer to a renewal')), leftMs(deadline));
        stream
          .on('error', reject)
          .on('end', () => reject(new StoreUnavailable('unreachable', 'renew: etcd ended the stream')))
          .on('data', ({ TTL }) => resolve(Number(TTL) > 0 ? 'renewed' : 'gone'))
          .write({ ID: id });
      });
    } catch (error) {
      if (error instanceof DeadlineExceeded) this.#leaseConnection.renew();
      if (error instanceof Error && refusesToken(error.message)) this.#session?.forget();
      throw error;
    } finally {
      clearTimeout(expiry);
      stream.cancel();
    }
  }

  watchEnded({ silent, words }: WatchOutcome): void {
    if (silent) this.#watchConnection.renew();
    if (refusesToken(words)) this.#session?.forget();
  }

  close(): void {
    this.#kvConnection.close();
    this.#watchConnection.close();
    this.#leaseConnection.close();
    this.#maintenanceConnection.close();
  }
}

/** The certificates and the user by which etcd is reached. */
interface Access {
  readonly tls: Tls | undefined;
  readonly auth: UserAndPassword | undefined;
}

/** The means by which the access to etcd changes while the store is open. */
export type AccessRenewal = Pick<Endpoints, 'renew' | 'takes'>;

interface EndpointsOptions {
  readonly urls: readonly string[];
  readonly tls: Tls | undefined;
  readonly user: UserAndPassword | undefined;
  readonly deadlineMs: number;
}

/** @throws RangeError on addresses that cannot work. The message leaves them out: one may hold a password. */
export function openEndpoints({ urls, tls, user, deadlineMs }: EndpointsOptions): Endpoints {
  const parsed = urls.map((url) => /^(https?:)\/\/([^\s/@?#]+:\d+)\/?$/.exec(url));
  const protocols = new Set(parsed.map((parts) => parts?.[1]));
  const [protocol] = protocols;
  if (protocols.size !== 1 || protocol === undefined) {
    throw new RangeError('The etcd endpoints must all be http://host:port, or all https://host:port.');
  }
  if (tls && protocol === 'http:') throw new RangeError('Certificates for etcd need endpoints with https://.');
  const all = parsed.map((parts) => new Endpoint(`${protocol}//${parts?.[2] ?? ''}`, tls, user));
  return new Endpoints(all, deadlineMs);
}

type Call<T> = (endpoint: Endpoint, options: TimedOptions) => Promise<T>;

/**
 * Chooses the endpoint of each call: one that works is kept, one that failed is left. Every call has one deadline,
 * repetitions included. `once`, `repeatedly` and `standing` reject with StoreUnavailable.
 */
export class Endpoints {
  readonly all: readonly Endpoint[];
  readonly #deadlineMs: number;
  #preferred: number;
  #connecting: Promise<Endpoint | string> | undefined;

  constructor(all: readonly Endpoint[], deadlineMs: number) {
    this.all = all;
    this.#deadlineMs = deadlineMs;
    // At random, so that replicas spread over the members.
    this.#preferred = Math.floor(jitter() * all.length);
  }

  /** Whether a connection stands. */
  get isReady(): boolean {
    return this.all.some(({ isReady }) => isReady);
  }

  /** The deadline of a call that begins now. */
  deadline(withinMs = this.#deadlineMs): Deadline {
    return deadlineIn(Math.min(withinMs, this.#deadlineMs));
  }

  /** For calls that change something: the call is sent at most once, and only over a connection that stands. */
  async once<T>(operation: string, call: Call<T>, deadline = this.deadline()): Promise<T> {
    const endpoint = await this.standing(operation, deadline);
    try {
      return await call(endpoint, { until: deadline });
    } catch (error) {
      throw this.#noted(operation, endpoint, error);
    }
  }

  /**
   * For calls that may happen twice: the call is repeated until the deadline, at another endpoint where there is one.
   */
  async repeatedly<T>(operation: string, call: Call<T>, deadline = this.deadline()): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const endpoint = await this.standing(operation, deadline);
      try {
        return await call(endpoint, { until: this.#shareOf(deadline, attempt) });
      } catch (error) {
        const trouble = this.#noted(operation, endpoint, error);
        const pauseMs = this.#pauseAfter(attempt);
        if (!isPassing(trouble) || leftMs(deadline) <= pauseMs) throw trouble;
        if (pauseMs > 0) await sleep(pauseMs);
      }
    }
  }

  /** An endpoint whose connection stands. Waits for one for half a deadline, so that the call has the other half. */
  async standing(operation: string, deadline: Deadline): Promise<Endpoint> {
    const kept = this.all[this.#preferred];
    if (kept?.isReady) return kept;
    const found = this.all.find(({ isReady }) => isReady) ?? (await this.#connected(deadline));
    if (typeof found === 'string')
      throw new StoreUnavailable('unreachable', `${operation}: no etcd endpoint: ${found}`);
    this.#preferred = this.all.indexOf(found);
    return found;
  }

  /** Sends the next call to another endpoint; when many calls fail together, only the first of them changes it. */
  leave(endpoint: Endpoint): void {
    if (this.all[this.#preferred] === endpoint) this.#preferred = (this.#preferred + 1) % this.all.length;
  }

  /** Called when a watch has ended. Where the connection broke, the next watch goes to another endpoint. */
  watchEnded(endpoint: Endpoint, outcome: WatchOutcome): void {
    endpoint.watchEnded(outcome);
    if (outcome.reason === 'disconnected') this.leave(endpoint);
  }

  /** Connects and authenticates by other certificates and another password from now on, without a call that fails. */
  renew({ tls, auth }: Access): void {
    for (const endpoint of this.all) void endpoint.renew(tls, auth, this.deadline());
  }

  /**
   * Whether etcd takes a user's password: undefined where no endpoint answers. From then on it is tried in its turn,
   * where etcd refuses the present one.
   */
  async takes(user: UserAndPassword): Promise<boolean | undefined> {
    const answers = await Promise.all(this.all.map(async (endpoint) => endpoint.takes(user, this.deadline())));
    return answers.includes(true) || (answers.includes(false) ? false : undefined);
  }

  close(): void {
    for (const endpoint of this.all) endpoint.close();
  }

  #noted(operation: string, endpoint: Endpoint, error: unknown): StoreUnavailable {
    const trouble = unavailable(operation, error);
    if (isPassing(trouble)) this.leave(endpoint);
    return trouble;
  }

  /** Gives the last endpoint to be tried all of the time that is left, and each one before it half of that time. */
  #shareOf(deadline: Deadline, attempt: number): Deadline {
    return attempt >= this.all.length ? deadline : halfOf(deadline, 1);
  }

  #pauseAfter(attempt: number): number {
    const again = attempt - this.all.length;
    return again < 0 ? 0 : READ_PAUSE_MS * 2 ** again;
  }

  async #connected(deadline: Deadline): Promise<Endpoint | string> {
    this.#connecting ??= this.#connectAny(deadlineIn(this.#deadlineMs / 2)).finally(() => {
      this.#connecting = undefined;
    });
    const { promise: expired, resolve } = Promise.withResolvers<string>();
    const expiry = setTimeout(() => resolve('not connected in time'), leftMs(deadline));
    try {
      return await Promise.race([this.#connecting, expired]);
    } finally {
      clearTimeout(expiry);
    }
  }

  /** The first endpoint whose connection stands, or the reasons why none does. */
  async #connectAny(until: Deadline): Promise<Endpoint | string> {
    const troubles: string[] = [];
    const attempts = this.all.map(async (endpoint) => {
      const trouble = await endpoint.connect(until);
      if (trouble === undefined) return endpoint;
      troubles.push(`${endpoint.url}: ${trouble}`);
      throw new Error(trouble);
    });
    return Promise.any(attempts).catch(() => troubles.join('; '));
  }
}

const PARTS = ['ca', 'certificate', 'key'] as const;
const NONE = Buffer.alloc(0);
const areSame = (one: Tls | undefined, other: Tls | undefined): boolean =>
  PARTS.every((part) => (one?.[part] ?? NONE).equals(other?.[part] ?? NONE));

function isPassing({ reason }: StoreUnavailable): boolean {
  return reason === 'timeout' || reason === 'unreachable';
}
