import { jsonOf, tagOf } from './answers.ts';
import { Connection } from './connection.ts';
import { OwnerOperations, type OtelConfig, type StoreOtelConfigRequest } from './generated/v1.ts';
import { MusterError } from './errors.ts';
import type { CallOptions, ClientOptions, SecretSource } from './options.ts';
import type { Timing } from './timing.ts';
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

/**
 * The API of an account's owner, `/v1`. Its calls keep within the rate of the account. Every method throws MusterError.
 */
export class OwnerClient extends OwnerOperations {
  readonly #timing: Timing;

  /** @throws MusterError `invalid_argument` */
  constructor({ url, apiKey, ...options }: OwnerClientOptions) {
    const connection = new Connection(url, 'API key', apiKey);
    const transport = new Transport(connection, options, { paced: true });
    super('OwnerClient', connection, transport);
    this.#timing = transport.timing;
  }

  /** The configuration with the `etag` for the `ifMatch` of a change. */
  async readTaggedOtelConfig(options?: CallOptions): Promise<TaggedOtelConfig> {
    const answer = await this.send({ method: 'GET', path: '/v1/otel-config', repeatable: true }, options);
    return { config: await jsonOf(answer, 'enabled'), etag: tagOf(answer.headers) };
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

  /**
   * Yields what is added, changed and removed: first each app that is there. A last contact is no change. It goes on
   * through outages until the signal ends it.
   */
  watchApps(options: WatchOptions = {}): AsyncGenerator<AppEvent, void, undefined> {
    const { requestId } = options;
    const list = async (signal: AbortSignal | undefined) => (await this.listApps({ signal, requestId })).apps;
    return watched(list, this.#timing, options);
  }
}

/** Whether a configuration is what a change asks for, as far as it shows. */
const shows = (
  stored: OtelConfig,
  { enabled, endpoint = '', evidenceLevel = 'hashes' }: StoreOtelConfigRequest,
): boolean => stored.enabled === enabled && stored.endpoint === endpoint && stored.evidenceLevel === evidenceLevel;
