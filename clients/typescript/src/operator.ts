import { badAnswer } from './answers.ts';
import { Connection, segment } from './connection.ts';
import { OperatorOperations, type ReadUsageQuery } from './generated/operator.ts';
import { USAGE_MS } from './operations.ts';
import type { CallOptions, ClientOptions, SecretSource } from './options.ts';
import { usageTextOf, type BackupStream, type UsageText } from './pages.ts';
import { Transport } from './transport.ts';

export interface OperatorClientOptions extends ClientOptions {
  /** The operator's token. */
  readonly token: SecretSource;
}

/** Milliseconds beyond an attempt's own, for what the service works on for longer. */
const BACKUP_MS = 120_000;

/** The API of the platform team, `/operator/v1`, on the ops listener. Every method throws MusterError. */
export class OperatorClient extends OperatorOperations {
  /** @throws MusterError `invalid_argument` */
  constructor({ url, token, ...options }: OperatorClientOptions) {
    const connection = new Connection(url, 'operator token', token);
    super('OperatorClient', connection, new Transport(connection, options));
  }

  /**
   * Deletes a user with all sessions and memberships, and the API keys that the user made, but for `keepKeys`. Sent
   * again after a lost answer it may end with `not_found`.
   */
  async deleteUser(userId: string, options?: CallOptions, keepKeys: readonly string[] = []): Promise<void> {
    const query = keepKeys.length === 0 ? {} : { keepKeys: keepKeys.join(',') };
    const path = `/operator/v1/users/${segment(userId)}`;
    await this.done({ method: 'DELETE', path, query, repeatable: true }, options);
  }

  /** As `readUsage`, in CSV. */
  async readUsageCsv(query: ReadUsageQuery, options?: CallOptions): Promise<UsageText> {
    return await this.#usageText('text/csv', query, options);
  }

  /** As `readUsage`, as a batch of CloudEvents. */
  async readUsageEvents(query: ReadUsageQuery, options?: CallOptions): Promise<UsageText> {
    return await this.#usageText('application/cloudevents-batch+json', query, options);
  }

  /** Streams a backup. With `count` its head says how many entries follow. */
  async readBackup(
    { count }: { readonly count?: boolean | undefined } = {},
    options?: CallOptions,
  ): Promise<BackupStream> {
    const answer = await this.send(
      {
        method: 'GET',
        path: '/operator/v1/backup',
        query: { count },
        headers: { accept: '*/*' },
        repeatable: true,
        extraMs: BACKUP_MS,
        asStream: true,
      },
      options,
    );
    if (!answer.stream) throw badAnswer('The answer is no backup.', answer);
    return { headers: answer.headers, body: answer.stream };
  }

  async #usageText(accept: string, query: ReadUsageQuery, options?: CallOptions): Promise<UsageText> {
    const { month, accountId, limit, after } = query;
    const request = { method: 'GET', path: '/operator/v1/usage', query: { month, accountId, limit, after } };
    const operation = { ...request, headers: { accept }, repeatable: true, extraMs: USAGE_MS };
    return usageTextOf(await this.send(operation, options), accept);
  }
}
