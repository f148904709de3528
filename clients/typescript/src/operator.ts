import { anyBodyOf, badAnswer, doneOf, jsonOf, listOf } from './answers.ts';
import { Connection, segment } from './connection.ts';
import type {
  Account,
  AccountApp,
  AccountAppPage,
  AccountPage,
  ApiKeyList,
  AuditEntry,
  AuditPage,
  AuditVerification,
  ChangeAccountAppRequest,
  ChangeAccountRequest,
  CreateAccountRequest,
  CreateApiKeyRequest,
  CreatedApiKey,
  DecideReviewRequest,
  KeyRotation,
  KeyStatus,
  RateLimits,
  ReviewEntry,
  ReviewPage,
  Rollout,
  Usage,
} from './generated/operator.ts';
import { genericOperation, keyed } from './operations.ts';
import type {
  CallOptions,
  ClientOptions,
  CreateOptions,
  GenericAnswer,
  GenericRequest,
  Query,
  SecretSource,
} from './options.ts';
import {
  itemsOf,
  pageOf,
  usageOf,
  usageTextOf,
  type BackupStream,
  type PageQuery,
  type ReviewQuery,
  type UsageQuery,
  type UsageText,
} from './pages.ts';
import { Transport } from './transport.ts';
import { UserOperations } from './users.ts';

export interface OperatorClientOptions extends ClientOptions {
  /** The operator's token. */
  readonly token: SecretSource;
}

/** Milliseconds beyond an attempt's own, for what the service works on for longer. */
const USAGE_MS = 30_000;
const VERIFICATION_MS = 120_000;

const ACCOUNTS = '/operator/v1/accounts';
const USAGE = '/operator/v1/usage';

/** The API of the platform team, `/operator/v1`, on the ops listener. Every method throws MusterError. */
export class OperatorClient extends UserOperations {
  readonly #connection: Connection;
  readonly #transport: Transport;

  /** @throws MusterError `invalid_argument` */
  constructor({ url, token, ...options }: OperatorClientOptions) {
    const connection = new Connection(url, 'operator token', token);
    const transport = new Transport(connection, options);
    super(transport);
    this.#connection = connection;
    this.#transport = transport;
  }

  async createAccount(body: CreateAccountRequest, options: CreateOptions = {}): Promise<Account> {
    const operation = keyed({ method: 'POST', path: ACCOUNTS, body }, options);
    return await jsonOf(this.#transport.send(operation, options), 'accountId');
  }

  async listAccounts(page: PageQuery = {}, options?: CallOptions): Promise<AccountPage> {
    return await this.#list('accounts', ACCOUNTS, pageOf(page), options);
  }

  async readAccount(accountId: string, options?: CallOptions): Promise<Account> {
    return await this.#get('accountId', pathOf(accountId), options);
  }

  /** Fields that are left out stay as they are. */
  async changeAccount(accountId: string, body: ChangeAccountRequest, options?: CallOptions): Promise<Account> {
    const path = pathOf(accountId);
    return await jsonOf(this.#transport.send({ method: 'PATCH', path, body, repeatable: true }, options), 'accountId');
  }

  async listAccountApps(accountId: string, page: PageQuery = {}, options?: CallOptions): Promise<AccountAppPage> {
    return await this.#list('apps', `${pathOf(accountId)}/apps`, pageOf(page), options);
  }

  async changeAccountApp(
    accountId: string,
    appId: string,
    body: ChangeAccountAppRequest,
    options?: CallOptions,
  ): Promise<AccountApp> {
    const path = `${pathOf(accountId)}/apps/${segment(appId)}`;
    return await jsonOf(this.#transport.send({ method: 'PATCH', path, body, repeatable: true }, options), 'appId');
  }

  /** Creates an API key, which no later answer shows, but that to a repetition with the same `idempotencyKey`. */
  async createApiKey(
    accountId: string,
    body: CreateApiKeyRequest = {},
    options: CreateOptions = {},
  ): Promise<CreatedApiKey> {
    const operation = keyed({ method: 'POST', path: `${pathOf(accountId)}/api-keys`, body }, options);
    return await jsonOf(this.#transport.send(operation, options), 'keyId');
  }

  async listApiKeys(accountId: string, options?: CallOptions): Promise<ApiKeyList> {
    return await this.#list('apiKeys', `${pathOf(accountId)}/api-keys`, {}, options);
  }

  async revokeApiKey(accountId: string, keyId: string, options?: CallOptions): Promise<void> {
    const path = `${pathOf(accountId)}/api-keys/${segment(keyId)}`;
    await doneOf(this.#transport.send({ method: 'DELETE', path, repeatable: true }, options));
  }

  /** Oldest first. */
  async listAudit(accountId: string, page: PageQuery = {}, options?: CallOptions): Promise<AuditPage> {
    return await this.#list('entries', `${pathOf(accountId)}/audit`, pageOf(page), options);
  }

  async verifyAudit(accountId: string, options?: CallOptions): Promise<AuditVerification> {
    return await this.#list('faults', `${pathOf(accountId)}/audit/verification`, {}, options, VERIFICATION_MS);
  }

  /** The audit of what concerns no single account. */
  async listServiceAudit(page: PageQuery = {}, options?: CallOptions): Promise<AuditPage> {
    return await this.#list('entries', '/operator/v1/audit', pageOf(page), options);
  }

  async verifyServiceAudit(options?: CallOptions): Promise<AuditVerification> {
    return await this.#list('faults', '/operator/v1/audit/verification', {}, options, VERIFICATION_MS);
  }

  async readRollout(accountId: string, options?: CallOptions): Promise<Rollout> {
    return await this.#get('revision', `${pathOf(accountId)}/rollout`, options);
  }

  /** A page may be empty and still have a `next`. */
  async listReviewQueue(accountId: string, query: ReviewQuery = {}, options?: CallOptions): Promise<ReviewPage> {
    const { status } = query;
    return await this.#list('entries', `${pathOf(accountId)}/review-queue`, { status, ...pageOf(query) }, options);
  }

  /** Without `note` the stored one stays; `''` removes it. */
  async decideReview(
    accountId: string,
    entryId: string,
    body: DecideReviewRequest,
    options?: CallOptions,
  ): Promise<ReviewEntry> {
    const path = `${pathOf(accountId)}/review-queue/${segment(entryId)}`;
    return await jsonOf(this.#transport.send({ method: 'PATCH', path, body, repeatable: true }, options), 'entryId');
  }

  async readKeys(options?: CallOptions): Promise<KeyStatus> {
    return await this.#get('writing', '/operator/v1/keys', options);
  }

  /** Makes the newest key the active one. It is not sent again after a lost answer: `readKeys` tells. */
  async rotateKeys(options?: CallOptions): Promise<KeyRotation> {
    const operation = { method: 'POST', path: '/operator/v1/keys/rotation', repeatable: false };
    return await jsonOf(this.#transport.send(operation, options), 'writing');
  }

  /** A month from the ledger; without `limit` and `after` whole, which the service refuses above 2000 accounts. */
  async readUsage(query: UsageQuery, options?: CallOptions): Promise<Usage> {
    return await this.#list('accounts', USAGE, usageOf(query), options, USAGE_MS);
  }

  /** As `readUsage`, in CSV. */
  async readUsageCsv(query: UsageQuery, options?: CallOptions): Promise<UsageText> {
    return await this.#usageText('text/csv', query, options);
  }

  /** As `readUsage`, as a batch of CloudEvents. */
  async readUsageEvents(query: UsageQuery, options?: CallOptions): Promise<UsageText> {
    return await this.#usageText('application/cloudevents-batch+json', query, options);
  }

  /** The accounts that are limited, or near it; `top` is 1 to 20. */
  async readRateLimits(
    { top }: { readonly top?: number | undefined } = {},
    options?: CallOptions,
  ): Promise<RateLimits> {
    return await this.#list('accounts', '/operator/v1/rate-limits', { top }, options);
  }

  /** Streams a backup. With `count` its head says how many entries follow. */
  async readBackup(
    { count }: { readonly count?: boolean | undefined } = {},
    options?: CallOptions,
  ): Promise<BackupStream> {
    const answer = await this.#transport.send(
      {
        method: 'GET',
        path: '/operator/v1/backup',
        query: { count },
        headers: { accept: '*/*' },
        repeatable: true,
        extraMs: VERIFICATION_MS,
        asStream: true,
      },
      options,
    );
    if (!answer.stream) throw badAnswer('The answer is no backup.', answer);
    return { headers: answer.headers, body: answer.stream };
  }

  /** Every account, page by page. */
  accounts(page: PageQuery = {}, options?: CallOptions): AsyncGenerator<Account, void, undefined> {
    const read = (after: string | undefined) => this.listAccounts({ ...page, after }, options);
    return itemsOf(read, ({ accounts }) => accounts, page.after);
  }

  /** Every app of an account, page by page. */
  accountApps(
    accountId: string,
    page: PageQuery = {},
    options?: CallOptions,
  ): AsyncGenerator<AccountApp, void, undefined> {
    const read = (after: string | undefined) => this.listAccountApps(accountId, { ...page, after }, options);
    return itemsOf(read, ({ apps }) => apps, page.after);
  }

  /** Every entry of an account's audit, oldest first, page by page. */
  audit(accountId: string, page: PageQuery = {}, options?: CallOptions): AsyncGenerator<AuditEntry, void, undefined> {
    const read = (after: string | undefined) => this.listAudit(accountId, { ...page, after }, options);
    return itemsOf(read, ({ entries }) => entries, page.after);
  }

  /** Every entry of the service's audit, oldest first, page by page. */
  serviceAudit(page: PageQuery = {}, options?: CallOptions): AsyncGenerator<AuditEntry, void, undefined> {
    const read = (after: string | undefined) => this.listServiceAudit({ ...page, after }, options);
    return itemsOf(read, ({ entries }) => entries, page.after);
  }

  /** Every entry of an account's review queue, page by page. */
  reviewQueue(
    accountId: string,
    query: ReviewQuery = {},
    options?: CallOptions,
  ): AsyncGenerator<ReviewEntry, void, undefined> {
    const read = (after: string | undefined) => this.listReviewQueue(accountId, { ...query, after }, options);
    return itemsOf(read, ({ entries }) => entries, query.after);
  }

  /** Any request; a POST is sent again after a lost answer where it has an `idempotencyKey`. */
  async request(request: GenericRequest, options: CreateOptions = {}): Promise<GenericAnswer> {
    const answer = await this.#transport.send(genericOperation(request, options), options);
    return { status: answer.status, headers: answer.headers, body: anyBodyOf(answer) };
  }

  /** The address alone. */
  override toString(): string {
    return `OperatorClient(${this.#connection.base})`;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  async #get<T extends object>(field: keyof T & string, path: string, options?: CallOptions): Promise<T> {
    return await jsonOf(this.#transport.send({ method: 'GET', path, repeatable: true }, options), field);
  }

  async #list<T extends object>(
    field: keyof T & string,
    path: string,
    query: Query,
    options?: CallOptions,
    extraMs = 0,
  ): Promise<T> {
    const operation = { method: 'GET', path, query, repeatable: true, extraMs };
    return await listOf(this.#transport.send(operation, options), field);
  }

  async #usageText(accept: string, query: UsageQuery, options?: CallOptions): Promise<UsageText> {
    const request = { method: 'GET', path: USAGE, query: usageOf(query), headers: { accept } };
    const answer = await this.#transport.send({ ...request, repeatable: true, extraMs: USAGE_MS }, options);
    return usageTextOf(answer, accept);
  }
}

const pathOf = (accountId: string): string => `${ACCOUNTS}/${segment(accountId)}`;
