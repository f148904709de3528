import { anyBodyOf, badAnswer, jsonOf, retryAfterOf } from './answers.ts';
import { checked, Connection } from './connection.ts';
import { invalidArgument } from './errors.ts';
import type {
  AcceptedDetections,
  AcknowledgeConfigRequest,
  DeviceConfig,
  EnrollDeviceRequest,
  EnrolledDevice,
  ReportDetectionsRequest,
} from './generated/device.ts';
import { genericOperation } from './operations.ts';
import type { CallOptions, ClientOptions, GenericAnswer, GenericRequest, SecretSource } from './options.ts';
import { Transport } from './transport.ts';

export interface DeviceClientOptions extends ClientOptions {
  /** May be given later, by `useCredential`, since an enrollment needs none. */
  readonly credential?: SecretSource | undefined;
}

export interface EnrollOptions extends CallOptions {
  /** The credential whose SHA-256 is the request's `credentialHash`: it proves that the hash is the daemon's own. */
  readonly credential?: string | undefined;
}

export interface PollOptions extends CallOptions {
  /** Of the configuration that the daemon has. */
  readonly etag?: string | undefined;
  /** Seconds for which the service may hold the poll until something changes; it takes 50 at most. */
  readonly waitSeconds?: number | undefined;
  readonly platform?: string | undefined;
  readonly agentVersion?: string | undefined;
}

/**
 * The answer to a poll: the configuration where it is another one than the daemon has. `etag` is for the next poll;
 * `retryAfterSeconds`, the pause before it, is there where this one was not held.
 */
export type Poll =
  | {
      readonly changed: true;
      readonly config: DeviceConfig;
      readonly etag: string;
      readonly retryAfterSeconds?: number | undefined;
    }
  | { readonly changed: false; readonly etag: string; readonly retryAfterSeconds?: number | undefined };

const WAIT_SECONDS_MAX = 50;
const CONFIG = '/device/v1/config';

/** The API of a daemon, `/device/v1`. Every method throws MusterError. */
export class DeviceClient {
  readonly #connection: Connection;
  readonly #transport: Transport;

  /** @throws MusterError `invalid_argument` */
  constructor({ url, credential, ...options }: DeviceClientOptions) {
    this.#connection = new Connection(url, 'credential', credential);
    this.#transport = new Transport(this.#connection, options);
  }

  /** From now on requests bear this credential. @throws MusterError `invalid_argument` */
  useCredential(credential: SecretSource): void {
    this.#connection.use(credential);
  }

  /**
   * Enrolls with a code. With a `credentialHash` it is sent again after a lost answer, since the same request may be
   * repeated for 15 minutes; without one, the credential of a lost answer is lost with the code.
   */
  async enrollDevice(body: EnrollDeviceRequest, options: EnrollOptions = {}): Promise<EnrolledDevice> {
    const { credential } = options;
    const answer = await this.#transport.send(
      {
        method: 'POST',
        path: '/device/v1/enroll',
        body,
        repeatable: body.credentialHash !== undefined,
        secret: checked(credential, 'credential') ?? '',
      },
      options,
    );
    return await jsonOf(answer, 'appId');
  }

  /** Asks for the configuration. A poll that is held has its `waitSeconds` beyond the client's limits of time. */
  async pollConfig(options: PollOptions = {}): Promise<Poll> {
    const { etag, waitSeconds = 0, platform, agentVersion } = options;
    if (!Number.isInteger(waitSeconds) || waitSeconds < 0) throw invalidArgument('waitSeconds is no whole number.');
    const wait = Math.min(waitSeconds, WAIT_SECONDS_MAX);
    const headers = {
      ...(etag !== undefined && { 'if-none-match': etag }),
      ...(wait > 0 && { prefer: `wait=${wait}` }),
      ...(platform !== undefined && { 'muster-platform': platform }),
      ...(agentVersion !== undefined && { 'muster-agent-version': agentVersion }),
    };
    const operation = { method: 'GET', path: CONFIG, headers, repeatable: true, extraMs: wait * 1000 };
    const answer = await this.#transport.send(operation, options);
    const now = answer.headers.get('etag') ?? etag;
    if (now === undefined) throw badAnswer('The answer has no ETag.', answer);
    const retryAfterSeconds = retryAfterOf(answer.headers);
    const known = { etag: now, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
    // A proxy may drop If-None-Match, so that the service sends what the daemon has already.
    return answer.status === 304 || isSameTag(now, etag)
      ? { changed: false, ...known }
      : { changed: true, config: await jsonOf(answer, 'revision'), ...known };
  }

  /** Tells whether a revision was applied. It is not sent again after a lost answer: the daemon knows what is newest. */
  async acknowledgeConfig(body: AcknowledgeConfigRequest, options?: CallOptions): Promise<void> {
    await this.#transport.send({ method: 'POST', path: `${CONFIG}/ack`, body, repeatable: false }, options);
  }

  /** Reports up to 100 detections. After a lost answer the caller may send the same events again: their ids tell them. */
  async reportDetections(body: ReportDetectionsRequest, options?: CallOptions): Promise<AcceptedDetections> {
    const operation = { method: 'POST', path: '/device/v1/detections', body, repeatable: false };
    return await jsonOf(this.#transport.send(operation, options), 'accepted');
  }

  /** Any request; a POST is sent once. */
  async request(request: GenericRequest, options: CallOptions = {}): Promise<GenericAnswer> {
    const answer = await this.#transport.send(genericOperation(request, {}), options);
    return { status: answer.status, headers: answer.headers, body: anyBodyOf(answer) };
  }

  /** The address alone. */
  toString(): string {
    return `DeviceClient(${this.#connection.base})`;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/** Compares weakly (RFC 9110, 13.1.2): a proxy that compresses answers makes their tags weak. */
const isSameTag = (one: string, other: string | undefined): boolean =>
  other !== undefined && opaque(one) === opaque(other);
const opaque = (tag: string): string => tag.replace(/^W\//, '');
