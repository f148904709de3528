import { badAnswer, retryAfterOf, tagOf } from './answers.ts';
import { checked, Connection } from './connection.ts';
import { configOf, enrolledOf, isSameTag } from './device/answers.ts';
import { invalidArgument, type MusterError } from './errors.ts';
import {
  DeviceOperations,
  type DeviceConfig,
  type EnrollDeviceRequest,
  type EnrolledDevice,
} from './generated/device.ts';
import { HeldWait } from './device/held-wait.ts';
import type { CallOptions, ClientOptions, GenericAnswer, GenericRequest, SecretSource } from './options.ts';
import { Transport, type Operation } from './transport.ts';

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
  /** The configuration that the daemon has: an answer without a tag is compared with it. */
  readonly config?: DeviceConfig | undefined;
  /**
   * Seconds for which the service may hold the poll until something changes; it takes 50 at most. Where a proxy cuts
   * polls off sooner, the client asks for less.
   */
  readonly waitSeconds?: number | undefined;
  readonly platform?: string | undefined;
  readonly agentVersion?: string | undefined;
  /** Made anew at each start of the daemon: by it machines that share a credential are found. */
  readonly instanceId?: string | undefined;
}

/**
 * The answer to a poll: the configuration where it is another one than the daemon has. `etag` is for the next poll, and
 * undefined where a proxy has dropped it; `retryAfterSeconds`, the pause before it, is there where this one was not
 * held.
 */
export type Poll =
  | {
      readonly changed: true;
      readonly config: DeviceConfig;
      readonly etag: string | undefined;
      readonly retryAfterSeconds?: number | undefined;
    }
  | { readonly changed: false; readonly etag: string | undefined; readonly retryAfterSeconds?: number | undefined };

const WAIT_SECONDS_MAX = 50;

/** The API of a daemon, `/device/v1`. Every method throws MusterError. */
export class DeviceClient extends DeviceOperations {
  readonly #connection: Connection;
  readonly #held: HeldWait;

  /** @throws MusterError `invalid_argument` */
  constructor({ url, credential, ...options }: DeviceClientOptions) {
    const connection = new Connection(url, 'credential', credential);
    const transport = new Transport(connection, options);
    super('DeviceClient', connection, transport);
    this.#connection = connection;
    this.#held = new HeldWait(() => transport.timing.now());
  }

  /** Any request; a POST is sent once, since the device plane takes no `Idempotency-Key`. */
  override async request(request: GenericRequest, options: CallOptions = {}): Promise<GenericAnswer> {
    return await super.request(request, { ...options, idempotencyKey: undefined });
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
    const answer = await this.send(
      {
        method: 'POST',
        path: '/device/v1/enroll',
        body,
        repeatable: body.credentialHash !== undefined,
        secret: checked(credential, 'credential') ?? '',
      },
      options,
    );
    return await enrolledOf(answer, body);
  }

  /** Asks for the configuration. A poll that is held has its `waitSeconds` beyond the client's limits of time. */
  async pollConfig(options: PollOptions = {}): Promise<Poll> {
    const { etag, waitSeconds = 0 } = options;
    if (!Number.isInteger(waitSeconds) || waitSeconds < 0) throw invalidArgument('waitSeconds is no whole number.');
    const answer = await this.send(this.#pollOf(options), options);
    if (waitSeconds > 0) this.#held.answered();
    const retryAfterSeconds = retryAfterOf(answer.headers);
    const wait = retryAfterSeconds !== undefined && { retryAfterSeconds };
    const now = tagOf(answer.headers);
    if (answer.status === 304) {
      if (etag === undefined) throw badAnswer('The answer is that nothing has changed, and no tag was sent.', answer);
      return { changed: false, etag: now ?? etag, ...wait };
    }
    const config = await configOf(answer);
    // A proxy may drop If-None-Match or the tag, so that the service sends what the daemon has already.
    const isKnown = now !== undefined && etag !== undefined ? isSameTag(now, etag) : isSame(config, options.config);
    if (!isKnown) return { changed: true, config, etag: now, ...wait };
    // Such a poll was not held, also where the header that says so was dropped.
    return { changed: false, etag: now ?? etag, retryAfterSeconds: config.pollIntervalSeconds, ...wait };
  }

  #pollOf(options: PollOptions): Operation {
    const { etag, waitSeconds = 0, platform, agentVersion, instanceId } = options;
    const wait = this.#held.seconds(Math.min(waitSeconds, WAIT_SECONDS_MAX));
    const headers = {
      ...(etag !== undefined && { 'if-none-match': etag }),
      ...(wait > 0 && { prefer: `wait=${wait}` }),
      ...(platform !== undefined && { 'muster-platform': platform }),
      ...(agentVersion !== undefined && { 'muster-agent-version': agentVersion }),
      ...(instanceId !== undefined && { 'muster-instance-id': instanceId }),
    };
    const afterFailure = (error: MusterError, tookMs: number): Operation => {
      this.#held.failed(error, tookMs, wait);
      return this.#pollOf(options);
    };
    return { method: 'GET', path: '/device/v1/config', headers, repeatable: true, extraMs: wait * 1000, afterFailure };
  }
}

/** Both come from the same text of the service. */
const isSame = (one: DeviceConfig, other: DeviceConfig | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
