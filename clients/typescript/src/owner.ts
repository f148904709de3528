import { anyBodyOf, doneOf, jsonOf, listOf, tagOf } from './answers.ts';
import { Connection, segment } from './connection.ts';
import type {
  App,
  AppList,
  CreateAppRequest,
  CreatedApp,
  IssuedEnrollCode,
  OtelConfig,
  PurgedOtelConfig,
  RevokedApp,
  StoreOtelConfigRequest,
} from './generated/v1.ts';
import { MusterError } from './errors.ts';
import { genericOperation, keyed } from './operations.ts';
import type {
  CallOptions,
  ClientOptions,
  ConditionalOptions,
  CreateOptions,
  GenericAnswer,
  GenericRequest,
  SecretSource,
} from './options.ts';
import { Transport } from './transport.ts';
import { watched, type AppEvent, type WatchOptions } from './watch.ts';

export interface OwnerClientOptions extends ClientOptions {
  readonly apiKey: SecretSource;
}

/** A configuration with its tag; without one where a proxy has removed it. */
export interface TaggedOtelConfig {
  readonly config: OtelConfig;
  readonly etag: string | undefined;
}

/** Each further attempt of a change follows upon a change that somebody else has made. */
const CHANGE_ATTEMPTS_MAX = 50;

/** The API of an account's owner, `/v1`. Its calls keep within the rate of the account. Every method throws MusterError. */
export class OwnerClient {
  readonly #connection: Connection;
  readonly #transport: Transport;

  /** @throws MusterError `invalid_argument` */
  constructor({ url, apiKey, ...options }: OwnerClientOptions) {
    this.#connection = new Connection(url, 'API key', apiKey);
    this.#transport = new Transport(this.#connection, options, { paced: true });
  }

  /** Creates an app with its first code, which no later answer shows. */
  async createApp(body: CreateAppRequest = {}, options: CreateOptions = {}): Promise<CreatedApp> {
    const operation = keyed({ method: 'POST', path: '/v1/apps', body }, options);
    return await jsonOf(this.#transport.send(operation, options), 'appId');
  }

  /** All apps of the account, oldest first. */
  async listApps(options?: CallOptions): Promise<AppList> {
    return await listOf(this.#transport.send({ method: 'GET', path: '/v1/apps', repeatable: true }, options), 'apps');
  }

  async readApp(appId: string, options?: CallOptions): Promise<App> {
    return await jsonOf(
      this.#transport.send({ method: 'GET', path: pathOf(appId), repeatable: true }, options),
      'appId',
    );
  }

  /** Issues a further code, which no later answer shows. */
  async issueEnrollCode(appId: string, options: CreateOptions = {}): Promise<IssuedEnrollCode> {
    const operation = keyed({ method: 'POST', path: `${pathOf(appId)}/enroll-code` }, options);
    return await jsonOf(this.#transport.send(operation, options), 'enrollCode');
  }

  /** Cuts the daemon off at once, and voids the open codes. */
  async revokeApp(appId: string, options?: CallOptions): Promise<RevokedApp> {
    const path = `${pathOf(appId)}/revoke`;
    return await jsonOf(this.#transport.send({ method: 'POST', path, repeatable: true }, options), 'appId');
  }

  async deleteApp(appId: string, options?: CallOptions): Promise<void> {
    await doneOf(this.#transport.send({ method: 'DELETE', path: pathOf(appId), repeatable: true }, options));
  }

  async readOtelConfig(options?: CallOptions): Promise<OtelConfig> {
    return (await this.readTaggedOtelConfig(options)).config;
  }

  /** The configuration with the `etag` for the `ifMatch` of a change. */
  async readTaggedOtelConfig(options?: CallOptions): Promise<TaggedOtelConfig> {
    const answer = await this.#transport.send({ method: 'GET', path: OTEL, repeatable: true }, options);
    return { config: await jsonOf(answer, 'endpoint'), etag: tagOf(answer.headers) };
  }

  /** Stores the configuration as a whole; without `authHeader` the stored header stays, `''` deletes it. */
  async storeOtelConfig(body: StoreOtelConfigRequest, options: ConditionalOptions = {}): Promise<OtelConfig> {
    const operation = { method: 'PUT', path: OTEL, body, headers: conditionOf(options), repeatable: true };
    return await jsonOf(this.#transport.send(operation, options), 'endpoint');
  }

  /**
   * Changes the configuration from what is stored: it reads, asks for the change, and stores that over what it has read
   * and nothing else; where somebody else was faster, it begins anew. So none of several changes of different fields is
   * lost, but where a proxy removes the `ETag`: then it stores over whatever is there.
   * @param change is called once for each attempt, and says the same of the same configuration
   * @throws MusterError `precondition_failed` where others were faster 50 times; the same with `mayBeDone` where an
   *   answer was lost and the change is not to be seen: somebody may have changed it since; whatever `change` throws
   */
  async changeOtelConfig(
    change: (stored: OtelConfig) => StoreOtelConfigRequest,
    options: CallOptions = {},
  ): Promise<OtelConfig> {
    let lost: { readonly error: MusterError; readonly body: StoreOtelConfigRequest } | undefined;
    for (let attempts = 1; ; attempts += 1) {
      const { config, etag } = await this.readTaggedOtelConfig(options);
      if (lost && !shows(config, lost.body)) throw lost.error;
      const body = change(config);
      try {
        return await this.storeOtelConfig(body, { ...options, ifMatch: etag });
      } catch (error) {
        const isLate = error instanceof MusterError && error.code === 'precondition_failed';
        if (!isLate || attempts >= CHANGE_ATTEMPTS_MAX) throw error;
        // It may be refused for the change itself, whose answer was lost.
        lost = error.mayBeDone ? { error, body } : undefined;
      }
    }
  }

  /** Removes the configuration, its header included. */
  async purgeOtelConfig(options: ConditionalOptions = {}): Promise<PurgedOtelConfig> {
    const operation = { method: 'DELETE', path: OTEL, headers: conditionOf(options), repeatable: true };
    return await jsonOf(this.#transport.send(operation, options), 'deleted');
  }

  /**
   * Yields what is added, changed and removed: first each app that is there. A last contact is no change. It goes on
   * through outages until the signal ends it.
   */
  watchApps(options: WatchOptions = {}): AsyncGenerator<AppEvent, void, undefined> {
    const { requestId } = options;
    const list = async (signal: AbortSignal | undefined) => (await this.listApps({ signal, requestId })).apps;
    return watched(list, this.#transport.timing, options);
  }

  /** Any request; a POST is sent again after a lost answer where it has an `idempotencyKey`. */
  async request(request: GenericRequest, options: CreateOptions = {}): Promise<GenericAnswer> {
    const answer = await this.#transport.send(genericOperation(request, options), options);
    return { status: answer.status, headers: answer.headers, body: anyBodyOf(answer) };
  }

  /** The address alone. */
  toString(): string {
    return `OwnerClient(${this.#connection.base})`;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/** Whether a configuration is what a change asks for, as far as it shows. */
const shows = (
  stored: OtelConfig,
  { enabled, endpoint = '', evidenceLevel = 'hashes' }: StoreOtelConfigRequest,
): boolean => stored.enabled === enabled && stored.endpoint === endpoint && stored.evidenceLevel === evidenceLevel;

const conditionOf = ({ ifMatch }: ConditionalOptions): Record<string, string> =>
  ifMatch === undefined ? {} : { 'if-match': ifMatch };

const OTEL = '/v1/otel-config';
const pathOf = (appId: string): string => `/v1/apps/${segment(appId)}`;
