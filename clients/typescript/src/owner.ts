import { anyBodyOf, doneOf, jsonOf, listOf } from './answers.ts';
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
import { genericOperation, keyed } from './operations.ts';
import type {
  CallOptions,
  ClientOptions,
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
    return await jsonOf(this.#transport.send({ method: 'GET', path: OTEL, repeatable: true }, options), 'endpoint');
  }

  /** Stores the configuration as a whole; without `authHeader` the stored header stays, `''` deletes it. */
  async storeOtelConfig(body: StoreOtelConfigRequest, options?: CallOptions): Promise<OtelConfig> {
    return await jsonOf(
      this.#transport.send({ method: 'PUT', path: OTEL, body, repeatable: true }, options),
      'endpoint',
    );
  }

  /** Removes the configuration, its header included. */
  async purgeOtelConfig(options?: CallOptions): Promise<PurgedOtelConfig> {
    return await jsonOf(this.#transport.send({ method: 'DELETE', path: OTEL, repeatable: true }, options), 'deleted');
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

const OTEL = '/v1/otel-config';
const pathOf = (appId: string): string => `/v1/apps/${segment(appId)}`;
