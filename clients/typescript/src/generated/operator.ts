/* Written by `npm run client` from docs/openapi/operator.json: do not edit. */

import { Client } from '../client.ts';
import { segment } from '../connection.ts';
import { keyed } from '../operations.ts';
import type { CallOptions, CreateOptions } from '../options.ts';
import { itemsOf } from '../pages.ts';

/** The operations of the API as methods: the ids of the path, then the body or the query, then the options. */
export abstract class OperatorOperations extends Client {
  /** Creates an account without keys. Its owner needs an API key next. Send an `Idempotency-Key` where an answer may be lost: for 24 hours the same key gets the same answer. */
  async createAccount(body: CreateAccountRequest, options: CreateOptions = {}): Promise<Account> {
    return await this.answered(
      'accountId',
      keyed({ method: 'POST', path: '/operator/v1/accounts', body }, options),
      options,
    );
  }

  /** Lists the accounts by their ids, page by page. */
  async listAccounts({ limit, after }: ListAccountsQuery = {}, options?: CallOptions): Promise<AccountPage> {
    return await this.listed(
      'accounts',
      { method: 'GET', path: '/operator/v1/accounts', query: { limit, after }, repeatable: true },
      options,
    );
  }

  /** As `listAccounts`, page by page to the end. */
  accounts(query: ListAccountsQuery = {}, options?: CallOptions): AsyncGenerator<Account, void, undefined> {
    const read = (after: string | undefined) => this.listAccounts({ ...query, after }, options);
    return itemsOf(read, ({ accounts }) => accounts, query.after);
  }

  /** Reads one account. */
  async readAccount(accountId: string, options?: CallOptions): Promise<Account> {
    return await this.answered(
      'accountId',
      { method: 'GET', path: `/operator/v1/accounts/${segment(accountId)}`, repeatable: true },
      options,
    );
  }

  /** Changes the fields that the body has. A disabled account is refused at once, on every listener. */
  async changeAccount(accountId: string, body: ChangeAccountRequest, options?: CallOptions): Promise<Account> {
    return await this.answered(
      'accountId',
      { method: 'PATCH', path: `/operator/v1/accounts/${segment(accountId)}`, body, repeatable: true },
      options,
    );
  }

  /** Lists the apps by their ids, page by page, with the custom resources of Kubernetes that stand for them. The owner of the account reads more of them with `GET /v1/apps`. */
  async listAccountApps(
    accountId: string,
    { limit, after }: ListAccountAppsQuery = {},
    options?: CallOptions,
  ): Promise<AccountAppPage> {
    return await this.listed(
      'apps',
      {
        method: 'GET',
        path: `/operator/v1/accounts/${segment(accountId)}/apps`,
        query: { limit, after },
        repeatable: true,
      },
      options,
    );
  }

  /** As `listAccountApps`, page by page to the end. */
  accountApps(
    accountId: string,
    query: ListAccountAppsQuery = {},
    options?: CallOptions,
  ): AsyncGenerator<AccountApp, void, undefined> {
    const read = (after: string | undefined) => this.listAccountApps(accountId, { ...query, after }, options);
    return itemsOf(read, ({ apps }) => apps, query.after);
  }

  /** Consents that a FleetApp adopts the app, once: its daemon goes on with its credential. The consent is used up by the adoption. */
  async changeAccountApp(
    accountId: string,
    appId: string,
    body: ChangeAccountAppRequest,
    options?: CallOptions,
  ): Promise<AccountApp> {
    return await this.answered(
      'appId',
      {
        method: 'PATCH',
        path: `/operator/v1/accounts/${segment(accountId)}/apps/${segment(appId)}`,
        body,
        repeatable: true,
      },
      options,
    );
  }

  /** Creates an API key of the account, which has at most 200. No other answer shows the key, but a repetition: for 24 hours the same `Idempotency-Key` gets the same answer. */
  async createApiKey(
    accountId: string,
    body: CreateApiKeyRequest = {},
    options: CreateOptions = {},
  ): Promise<CreatedApiKey> {
    return await this.answered(
      'keyId',
      keyed({ method: 'POST', path: `/operator/v1/accounts/${segment(accountId)}/api-keys`, body }, options),
      options,
    );
  }

  /** Lists the keys of the account, oldest first, without their text. */
  async listApiKeys(accountId: string, options?: CallOptions): Promise<ApiKeyList> {
    return await this.listed(
      'apiKeys',
      { method: 'GET', path: `/operator/v1/accounts/${segment(accountId)}/api-keys`, repeatable: true },
      options,
    );
  }

  /** Gives the key another secret; its id stays. The secret before it works on for `graceSeconds`, or until the key expires. One former secret works at most: the one before that ends with the answer. Revoking the key ends all of them at once. No other answer shows the secret, but a repetition: for 24 hours the same `Idempotency-Key` gets the same answer. A key that has expired is not rotated. */
  async rotateApiKey(
    accountId: string,
    keyId: string,
    body: RotateApiKeyRequest = {},
    options: CreateOptions = {},
  ): Promise<RotatedApiKey> {
    return await this.answered(
      'keyId',
      keyed(
        {
          method: 'POST',
          path: `/operator/v1/accounts/${segment(accountId)}/api-keys/${segment(keyId)}/rotation`,
          body,
        },
        options,
      ),
      options,
    );
  }

  /** Ends the secret before the last rotation, sooner than its grace: every request with it that begins after the answer is refused. The key goes on with its present secret. Where no former secret works, or another one since, the answer is 404. */
  async endFormerSecret(
    accountId: string,
    keyId: string,
    { formerExpiresAt }: EndFormerSecretQuery,
    options?: CallOptions,
  ): Promise<void> {
    await this.done(
      {
        method: 'DELETE',
        path: `/operator/v1/accounts/${segment(accountId)}/api-keys/${segment(keyId)}/former-secret`,
        query: { formerExpiresAt },
        repeatable: true,
      },
      options,
    );
  }

  /** Lets the key end at an earlier instant than its own, and its former secret no later; gives it less access, or fewer addresses. What the body leaves out stays. Every request that begins after the answer is held to it. A change by which the key could do more is refused, and so is any of a key that has expired. */
  async changeApiKey(
    accountId: string,
    keyId: string,
    body: ChangeApiKeyRequest,
    options?: CallOptions,
  ): Promise<ApiKey> {
    return await this.answered(
      'keyId',
      {
        method: 'PATCH',
        path: `/operator/v1/accounts/${segment(accountId)}/api-keys/${segment(keyId)}`,
        body,
        repeatable: true,
      },
      options,
    );
  }

  /** Revokes the key, with its former secret: every request that begins after the answer is refused. */
  async revokeApiKey(accountId: string, keyId: string, options?: CallOptions): Promise<void> {
    await this.done(
      {
        method: 'DELETE',
        path: `/operator/v1/accounts/${segment(accountId)}/api-keys/${segment(keyId)}`,
        repeatable: true,
      },
      options,
    );
  }

  /** Lists the entries of an account, oldest first or newest first, page by page, as the filters say. The export is an entry itself. */
  async listAudit(
    accountId: string,
    { limit, after, order, actor, action, app, since, until }: ListAuditQuery = {},
    options?: CallOptions,
  ): Promise<AuditPage> {
    return await this.listed(
      'entries',
      {
        method: 'GET',
        path: `/operator/v1/accounts/${segment(accountId)}/audit`,
        query: { limit, after, order, actor, action, app, since, until },
        repeatable: true,
      },
      options,
    );
  }

  /** As `listAudit`, page by page to the end. */
  audit(
    accountId: string,
    query: ListAuditQuery = {},
    options?: CallOptions,
  ): AsyncGenerator<AuditEntry, void, undefined> {
    const read = (after: string | undefined) => this.listAudit(accountId, { ...query, after }, options);
    return itemsOf(read, ({ entries }) => entries, query.after);
  }

  /** Finds entries that were removed, added or changed. It takes up to two minutes for a large audit. */
  async verifyAudit(accountId: string, options?: CallOptions): Promise<AuditVerification> {
    return await this.listed(
      'faults',
      {
        method: 'GET',
        path: `/operator/v1/accounts/${segment(accountId)}/audit/verification`,
        repeatable: true,
        extraMs: 120000,
      },
      options,
    );
  }

  /** Lists what concerns no single account, such as a backup, oldest first or newest first, page by page, as the filters say. */
  async listServiceAudit(
    { limit, after, order, actor, action, app, since, until }: ListServiceAuditQuery = {},
    options?: CallOptions,
  ): Promise<AuditPage> {
    return await this.listed(
      'entries',
      {
        method: 'GET',
        path: '/operator/v1/audit',
        query: { limit, after, order, actor, action, app, since, until },
        repeatable: true,
      },
      options,
    );
  }

  /** As `listServiceAudit`, page by page to the end. */
  serviceAudit(query: ListServiceAuditQuery = {}, options?: CallOptions): AsyncGenerator<AuditEntry, void, undefined> {
    const read = (after: string | undefined) => this.listServiceAudit({ ...query, after }, options);
    return itemsOf(read, ({ entries }) => entries, query.after);
  }

  /** Finds entries that were removed, added or changed. It takes up to two minutes for a large audit. */
  async verifyServiceAudit(options?: CallOptions): Promise<AuditVerification> {
    return await this.listed(
      'faults',
      { method: 'GET', path: '/operator/v1/audit/verification', repeatable: true, extraMs: 120000 },
      options,
    );
  }

  /** Shows how far the current configuration of the account has come among its active cloud daemons. Every daemon is in one of the four states. */
  async readRollout(accountId: string, options?: CallOptions): Promise<Rollout> {
    return await this.answered(
      'revision',
      { method: 'GET', path: `/operator/v1/accounts/${segment(accountId)}/rollout`, repeatable: true },
      options,
    );
  }

  /** Lists the accounts that have the most daemons that could not apply their configuration, have not acknowledged it, or are silent, as the leader counts them about once a minute. */
  async listRollouts({ by, top }: ListRolloutsQuery = {}, options?: CallOptions): Promise<Rollouts> {
    return await this.listed(
      'accounts',
      { method: 'GET', path: '/operator/v1/rollouts', query: { by, top }, repeatable: true },
      options,
    );
  }

  /** Lists the detections of the account’s daemons, page by page. */
  async listReviewQueue(
    accountId: string,
    { limit, after, status }: ListReviewQueueQuery = {},
    options?: CallOptions,
  ): Promise<ReviewPage> {
    return await this.listed(
      'entries',
      {
        method: 'GET',
        path: `/operator/v1/accounts/${segment(accountId)}/review-queue`,
        query: { limit, after, status },
        repeatable: true,
      },
      options,
    );
  }

  /** As `listReviewQueue`, page by page to the end. */
  reviewQueue(
    accountId: string,
    query: ListReviewQueueQuery = {},
    options?: CallOptions,
  ): AsyncGenerator<ReviewEntry, void, undefined> {
    const read = (after: string | undefined) => this.listReviewQueue(accountId, { ...query, after }, options);
    return itemsOf(read, ({ entries }) => entries, query.after);
  }

  /** Sets the status of an entry, and its note. */
  async decideReview(
    accountId: string,
    entryId: string,
    body: DecideReviewRequest,
    options?: CallOptions,
  ): Promise<ReviewEntry> {
    return await this.answered(
      'entryId',
      {
        method: 'PATCH',
        path: `/operator/v1/accounts/${segment(accountId)}/review-queue/${segment(entryId)}`,
        body,
        repeatable: true,
      },
      options,
    );
  }

  /** Shows what each key seals, which replicas know it, and which may be removed: numbers, never a key. */
  async readKeys(options?: CallOptions): Promise<KeyStatus> {
    return await this.answered('writing', { method: 'GET', path: '/operator/v1/keys', repeatable: true }, options);
  }

  /** Makes the newest key of the key file the active one. It is refused while a live replica does not know that key; a repetition changes nothing. After a lost answer it is not sent again. */
  async rotateKeys(options?: CallOptions): Promise<KeyRotation> {
    return await this.answered(
      'writing',
      { method: 'POST', path: '/operator/v1/keys/rotation', repeatable: false },
      options,
    );
  }

  /** Reads the metered nights of a month with their amounts, of one account, of a page of them, or of all up to 2000. The field `Accept` chooses JSON, CSV (a row a night) or CloudEvents (an event a night). */
  async readUsage({ month, accountId, limit, after }: ReadUsageQuery, options?: CallOptions): Promise<Usage> {
    return await this.listed(
      'accounts',
      {
        method: 'GET',
        path: '/operator/v1/usage',
        query: { month, accountId, limit, after },
        repeatable: true,
        extraMs: 30000,
      },
      options,
    );
  }

  /** Shows the accounts that were refused with 429 in the last minute, and those that have used a quarter of their requests, over all replicas. */
  async readRateLimits({ top }: ReadRateLimitsQuery = {}, options?: CallOptions): Promise<RateLimits> {
    return await this.listed(
      'accounts',
      { method: 'GET', path: '/operator/v1/rate-limits', query: { top }, repeatable: true },
      options,
    );
  }

  /** Creates a user of the panel, with a link for the first sign-in that is valid for 72 hours. The answer alone has the link. After a lost answer it is not sent again. */
  async createUser(body: CreateUserRequest, options?: CallOptions): Promise<CreatedUser> {
    return await this.answered(
      'user',
      { method: 'POST', path: '/operator/v1/users', body, repeatable: false },
      options,
    );
  }

  /** Lists the users of the panel by name, with their living API keys, access tokens and sessions, when these were last used, and whom the provider refused. There are at most 10000, so there are no pages. */
  async listUsers(options?: CallOptions): Promise<UserList> {
    return await this.listed('users', { method: 'GET', path: '/operator/v1/users', repeatable: true }, options);
  }

  /** Changes the fields that the body has. A disabled user is refused at once, on every replica. The last operator who can sign in stays one, and the last owner of an account who can sign in is not disabled. The API keys that the user made end with the right by which they were made, unless they are kept by name. */
  async changeUser(userId: string, body: ChangeUserRequest, options?: CallOptions): Promise<User> {
    return await this.answered(
      'userId',
      { method: 'PATCH', path: `/operator/v1/users/${segment(userId)}`, body, repeatable: true },
      options,
    );
  }

  /** Lists the living API keys that the user made, on all accounts: they end when the user loses the right by which they were made, is disabled or deleted, unless they are kept by name. */
  async listUserApiKeys(userId: string, options?: CallOptions): Promise<MadeApiKeys> {
    return await this.listed(
      'apiKeys',
      { method: 'GET', path: `/operator/v1/users/${segment(userId)}/api-keys`, repeatable: true },
      options,
    );
  }

  /** Makes a link that is valid for an hour, by which the user sets a new password; the passkeys of the user go, and all sessions end. Earlier links of the user are void at once. The answer alone has the link. */
  async resetUser(userId: string, options?: CallOptions): Promise<UserLink> {
    return await this.answered(
      'linkId',
      { method: 'POST', path: `/operator/v1/users/${segment(userId)}/reset`, repeatable: true },
      options,
    );
  }

  /** Lists the bindings of custom resources to accounts, apps and keys by the UIDs of the resources, page by page. A page of one namespace may have fewer entries than its limit, or none, and a `next`. With a namespace it has the consent to recover it, as long as that holds. */
  async listResourceBindings(
    { limit, after, namespace }: ListResourceBindingsQuery = {},
    options?: CallOptions,
  ): Promise<ResourceBindingPage> {
    return await this.listed(
      'bindings',
      { method: 'GET', path: '/operator/v1/kubernetes/bindings', query: { limit, after, namespace }, repeatable: true },
      options,
    );
  }

  /** As `listResourceBindings`, page by page to the end. */
  resourceBindings(
    query: ListResourceBindingsQuery = {},
    options?: CallOptions,
  ): AsyncGenerator<ResourceBinding, void, undefined> {
    const read = (after: string | undefined) => this.listResourceBindings({ ...query, after }, options);
    return itemsOf(read, ({ bindings }) => bindings, query.after);
  }

  /** Consents for 7 days that the custom resources of a namespace, which a restore or a move to another cluster brought under new UIDs, take up what resources of their names stood for. The clean-up of the former resources does nothing from then on. It takes the place of a consent for another namespace of that name. */
  async allowRecovery(body: RecoveryRequest, options?: CallOptions): Promise<Recovery> {
    return await this.answered(
      'namespace',
      { method: 'PUT', path: '/operator/v1/kubernetes/recovery', body, repeatable: true },
      options,
    );
  }
}

/** An access token, without its text. */
export interface AccessToken {
  /** The id of the access token; it is no secret. */
  readonly tokenId: string;
  /** The name for people. */
  readonly name: string;
  /** The id of the account. */
  readonly accountId: string;
  /** The name of the account. */
  readonly accountName: string;
  readonly role: AccessTokenRole;
  /** When the token was made. UTC with milliseconds. */
  readonly createdAt: string;
  /** When the token ends to be valid. UTC with milliseconds. */
  readonly expiresAt: string;
  /** When a request was last authenticated by it, at most five minutes behind; null where none was. UTC with milliseconds. */
  readonly lastUsedAt: string | null;
}

/** The most that the token may do on the account; it may never do more than its person at that moment. An owner may do all that a viewer may. */
export type AccessTokenRole = 'owner' | 'viewer';

/** An account: an owner of apps. */
export interface Account {
  /** The id of the account. */
  readonly accountId: string;
  /** The name for people. */
  readonly name: string;
  readonly entitlement: Entitlement;
  /** Whether every key and every daemon of the account is refused. */
  readonly disabled: boolean;
  /** When the account was created. UTC with milliseconds. */
  readonly createdAt: string;
  /** What the account's own keys and people store, in records and audit, in bytes. It is some seconds behind, and 0 until it comes to about a thousandth of the quota. */
  readonly storedBytes: number;
  /** The quota of the account in MiB; 0 is none. */
  readonly quotaMb: number;
  /** The FleetAccount that may adopt the account, once. */
  readonly adoptableBy?: string | undefined;
  /** When the consent ends, 7 days after it was given. UTC with milliseconds. */
  readonly adoptableUntil?: string | undefined;
  /** The UID of the namespace that the consent means. */
  readonly namespaceUid?: string | undefined;
  /** The FleetAccount that manages the account. */
  readonly managedBy?: string | undefined;
  /** The FleetAccount that managed the account until it was deleted. Applied again in the same namespace it takes the account up again. */
  readonly releasedBy?: string | undefined;
}

/** An app, as the operator sees it who gives it to a FleetApp. */
export interface AccountApp {
  /** The id of the app. */
  readonly appId: string;
  /** The name for people. */
  readonly name: string;
  readonly status: AppStatus;
  /** The FleetApp that may adopt the app, once. */
  readonly adoptableBy?: string | undefined;
  /** When the consent ends, 7 days after it was given. UTC with milliseconds. */
  readonly adoptableUntil?: string | undefined;
  /** The UID of the namespace that the consent means. */
  readonly namespaceUid?: string | undefined;
  /** The FleetApp that stands for the app. */
  readonly managedBy?: string | undefined;
}

/** A page of the apps of an account. */
export interface AccountAppPage {
  /** The apps of the page. */
  readonly apps: readonly AccountApp[];
  /** The value of `after` for the next page; absent on the last one. */
  readonly next?: string | undefined;
}

/** A page of accounts. */
export interface AccountPage {
  /** The accounts of the page. */
  readonly accounts: readonly Account[];
  /** The value of `after` for the next page; absent on the last one. */
  readonly next?: string | undefined;
}

/** An account with its daemons by their state towards its current configuration. */
export interface AccountRollout {
  /** The id of the account. */
  readonly accountId: string;
  /** The name of the account. */
  readonly name?: string | undefined;
  /** The revision of the configuration, or of its purge; 0 where none was stored. */
  readonly revision: number;
  /** The daemons that receive the configuration. */
  readonly devices: number;
  /** Those that applied the revision. */
  readonly applied: number;
  /** Those that could not apply it. */
  readonly failed: number;
  /** Those that have not acknowledged it yet. */
  readonly pending: number;
  /** Those that have been silent for three poll intervals, and for two minutes at least. */
  readonly stale: number;
}

/** The usage of an account. */
export interface AccountUsage {
  /** The id of the account. */
  readonly accountId: string;
  /** The name of the account. */
  readonly name: string;
  /** Its nights, in order. */
  readonly nights: readonly UsageNight[];
  /** The sum of its active daemons over the nights. */
  readonly daemonNights: number;
  /** The amount in minor units of the currency, such as cents. */
  readonly amountMinor: number;
}

/** A revision with the daemons that acknowledged it last. */
export interface AcknowledgedRevision {
  /** The revision. */
  readonly revision: number;
  /** Daemons that said last that they applied it. */
  readonly applied: number;
  /** Daemons that said last that they could not. */
  readonly failed: number;
}

/** An API key, without its text. */
export interface ApiKey {
  /** The id of the API key; it is no secret. */
  readonly keyId: string;
  /** The name for people. */
  readonly name: string;
  /** When the key was created. UTC with milliseconds. */
  readonly createdAt: string;
  /** When the key ends to be valid; null where it does not. UTC with milliseconds. */
  readonly expiresAt: string | null;
  readonly access: KeyAccess;
  /** The ranges of addresses, in CIDR notation, from which it may be used; all without any. */
  readonly allowedCidrs: readonly string[];
  /** When the secret before the last rotation ends; null where none works beside the present one. UTC with milliseconds. */
  readonly formerExpiresAt: string | null;
  /** Who made its secret, as the audit names actors: created it, or rotated it last; absent for keys of earlier versions. */
  readonly createdBy?: string | undefined;
  /** The name of the creator now; absent where there is none any more. */
  readonly createdByName?: string | undefined;
  /** When a request was last authenticated by it, at most a minute behind; null where none was. UTC with milliseconds. */
  readonly lastUsedAt: string | null;
  /** The requests that it authenticated today and on the six days before, in UTC, refused ones too; about ten minutes behind. */
  readonly calls7d: number;
}

/** The API keys of an account. */
export interface ApiKeyList {
  /** The keys, oldest first. */
  readonly apiKeys: readonly ApiKey[];
}

/** `pending` until the daemon enrolls, then `active`, and `revoked` once it is cut off. */
export type AppStatus = 'pending' | 'active' | 'revoked';

/** An entry of an audit. */
export interface AuditEntry {
  /** When it happened. UTC with milliseconds. */
  readonly at: string;
  /** Who did it: `key:ID`, `user:ID`, `user:ID:TOKEN` by an access token, `operator`, `operator:NAME`, `operator:NAME:ROLE`, `device:ID` or the service. */
  readonly actor: string;
  /** The name of the actor when it was done; absent where it had none, and in entries of earlier versions. */
  readonly actorName?: string | undefined;
  /** What was done. */
  readonly action: string;
  /** The app that it was done to; absent where it was none. */
  readonly appId?: string | undefined;
  /** What it was done to: `app:ID`, `key:ID`, `access-token:ID`, `user:ID`, `link:ID` or `account:ID`; absent where it was none of these. */
  readonly target?: string | undefined;
  /** The name of the target: the new one where it was created or renamed, the last one where it was deleted. */
  readonly targetName?: string | undefined;
  /** The `X-Request-Id` of the request. */
  readonly requestId: string;
  /** More of it, by names that depend on the action: texts, numbers and booleans; never a secret. */
  readonly detail: Readonly<Record<string, unknown>>;
}

/** A fault of the audit. */
export interface AuditFault {
  readonly what: AuditFaultKind;
  /** The number of the block; absent where no block has the entry. */
  readonly block?: number | undefined;
  /** The name of the entry; absent for a fault of the chain. */
  readonly entry?: string | undefined;
  /** The instant that the entry claims; null where no date has it. UTC with milliseconds. */
  readonly at?: string | null | undefined;
  /** A sentence for people. */
  readonly says: string;
}

/** The kind of the fault. */
export type AuditFaultKind = 'removed' | 'changed' | 'added' | 'backdated' | 'chain_broken';

/** The newest block, absent where there is none: keep it elsewhere, and compare. */
export interface AuditHead {
  /** The number of the newest block. */
  readonly number: number;
  /** Its digest, SHA-256 in base64url. */
  readonly digest: string;
  /** When it was sealed. UTC with milliseconds. */
  readonly at: string;
}

/** `asc`: the oldest entry first, as without it. `desc`: the newest one first. */
export type AuditOrder = 'asc' | 'desc';

/** A page of an audit. */
export interface AuditPage {
  /** The entries, in the order that was asked for. */
  readonly entries: readonly AuditEntry[];
  readonly order: AuditOrder;
  /** The value of `after` for the next page; absent on the last one. A page that is filtered, or has the newest entries first, may be shorter than asked for, and have a next one. */
  readonly next?: string | undefined;
}

/** The result of a verification of the audit. */
export interface AuditVerification {
  /** The account, or `operator`. */
  readonly accountId: string;
  /** How many sealed entries exist. */
  readonly entries: number;
  /** How many blocks the chain has. */
  readonly blocks: number;
  /** The number of the first block: above 1 where the retention has cut the beginning. */
  readonly firstBlock: number;
  /** How many entries are new; they are sealed within seconds. */
  readonly unsealed: number;
  readonly head?: AuditHead | undefined;
  /** The bytes of sealed entries that the account's own keys and people have written. */
  readonly ownBytes: number;
  /** The same as the quota goes by them; null while they are not counted, or the oldest ones are being removed. A wrong number is counted anew. */
  readonly notedBytes: number | null;
  /** At most 100 faults. */
  readonly faults: readonly AuditFault[];
  /** The number of all faults. */
  readonly faultCount: number;
}

/** The consent. */
export interface ChangeAccountAppRequest {
  /** The FleetApp, as `namespace/name`, that may adopt the app, once; null withdraws it. */
  readonly adoptableBy: string | null;
  /** The UID of the namespace of `adoptableBy`, with which it must be given. Without it the operator of Kubernetes asks the cluster for the UID. */
  readonly namespaceUid?: string | undefined;
}

/** The fields to change. */
export interface ChangeAccountRequest {
  /** A name for people, 1 to 200 characters; it need not be unique. It must not contain control, invisible or direction-changing characters. */
  readonly name?: string | undefined;
  readonly entitlement?: Entitlement | undefined;
  /** Whether every key and every daemon of the account is refused. */
  readonly disabled?: boolean | undefined;
  /** The quota of the account in MiB, 0 for none; null for that of the installation, `MUSTER_ACCOUNT_QUOTA_MB`. */
  readonly quotaMb?: number | null | undefined;
  /** The FleetAccount, as `namespace/name`, that may adopt the account, once; null withdraws it. Either forgets `releasedBy`. */
  readonly adoptableBy?: string | null | undefined;
  /** The UID of the namespace of `adoptableBy`, with which it must be given. Without it the operator of Kubernetes asks the cluster for the UID. */
  readonly namespaceUid?: string | undefined;
}

/** What an API key is to be from now on. */
export interface ChangeApiKeyRequest {
  /** When the key ends to be valid, in the future. */
  readonly expiresAt?: string | undefined;
  /** What it may do from now on. `full`: everything that the account may do by `/v1`. `read`: reads the apps and the configuration. `enroll`: creates apps, and issues codes for apps that it created itself and that are pending. */
  readonly access?: KeyAccess | undefined;
  /** The ranges of addresses, in CIDR notation, from which it may be used; all without any. */
  readonly allowedCidrs?: readonly string[] | undefined;
}

/** The fields to change. */
export interface ChangeUserRequest {
  /** The name by which others see the user, 1 to 100 characters. It must not contain control, invisible or direction-changing characters. */
  readonly name?: string | undefined;
  /** Whether the user is refused. */
  readonly disabled?: boolean | undefined;
  /** Whether the user is an operator; `role` says the same, and the others. */
  readonly operator?: boolean | undefined;
  readonly role?: InstallationRole | undefined;
  /** The ids of API keys that the user made and that go on; every other one ends where the user loses the right by which it was made. */
  readonly keepKeys?: readonly string[] | undefined;
}

/** An account to create. */
export interface CreateAccountRequest {
  /** A name for people, 1 to 200 characters; it need not be unique. It must not contain control, invisible or direction-changing characters. */
  readonly name: string;
  readonly entitlement: Entitlement;
}

/** An API key to create. */
export interface CreateApiKeyRequest {
  /** A name for people, at most 200 characters; empty without it. It must not contain control, invisible or direction-changing characters. */
  readonly name?: string | undefined;
  /** When the key ends to be valid, in the future; it does not expire without this. */
  readonly expiresAt?: string | null | undefined;
  /** What it may do; `full` without this. `full`: everything that the account may do by `/v1`. `read`: reads the apps and the configuration. `enroll`: creates apps, and issues codes for apps that it created itself and that are pending. */
  readonly access?: KeyAccess | undefined;
  /** The ranges of addresses, in CIDR notation, from which it may be used; all without any. */
  readonly allowedCidrs?: readonly string[] | undefined;
}

/** A user to create. */
export interface CreateUserRequest {
  /** The name by which others see the user, 1 to 100 characters. It must not contain control, invisible or direction-changing characters. */
  readonly name: string;
  /** The name to sign in with, such as an e-mail address; unique, whatever its case and width. It must consist of letters, digits and ASCII punctuation, each part in one direction of writing. */
  readonly login: string;
  /** Whether the user is an operator; `role` says the same, and the others. */
  readonly operator?: boolean | undefined;
  readonly role?: InstallationRole | undefined;
}

/** A new API key with its text. */
export interface CreatedApiKey {
  /** The id of the API key; it is no secret. */
  readonly keyId: string;
  /** The name for people. */
  readonly name: string;
  /** The key, a secret: keep it now. */
  readonly apiKey: string;
  /** When the key was created. UTC with milliseconds. */
  readonly createdAt: string;
  /** When the key ends to be valid; null where it does not. UTC with milliseconds. */
  readonly expiresAt: string | null;
  readonly access: KeyAccess;
  /** The ranges of addresses, in CIDR notation, from which it may be used; all without any. */
  readonly allowedCidrs: readonly string[];
}

/** A new user with the first link. */
export interface CreatedUser {
  readonly user: User;
  readonly link: UserLink;
}

/** A decision on a detection. */
export interface DecideReviewRequest {
  /** The decision. */
  readonly status: ReviewStatus;
  /** A note, at most 500 characters; without it the stored one stays, an empty one removes it. */
  readonly note?: string | undefined;
}

export interface EndFormerSecretQuery {
  /** The end of the former secret, as the list of keys has it: it names the secret. */
  readonly formerExpiresAt: string;
}

/** What the account has bought; the OpenTelemetry configuration needs `enterprise`. */
export type Entitlement = 'standard' | 'enterprise';

/** The evidence that the account’s level allowed when it came. */
export interface Evidence {
  /** A hash of what was found. */
  readonly hash: string;
  /** What was found, without what is private. */
  readonly redacted?: string | undefined;
  /** All that was found. */
  readonly full?: string | undefined;
}

/** The agents of OpAMP by their health, as far as they report it. */
export interface FleetHealth {
  /** Agents that say they are healthy. */
  readonly healthy: number;
  /** Agents that say they are not. */
  readonly unhealthy: number;
}

/** A role on the installation: `operator` may do everything, `support` reads, disables and revokes, `auditor` reads. */
export type InstallationRole = 'operator' | 'support' | 'auditor' | 'none';

/** `full`: everything that the account may do by `/v1`. `read`: reads the apps and the configuration. `enroll`: creates apps, and issues codes for apps that it created itself and that are pending. */
export type KeyAccess = 'full' | 'read' | 'enroll';

/** The active key, and the one before. */
export interface KeyRotation {
  /** The number of the active key now. */
  readonly writing: number;
  /** The number of the active key before. */
  readonly before: number;
}

/** The state of the key-encryption keys. */
export interface KeyStatus {
  /** The number of the active key. */
  readonly writing: number;
  /** The keys in the key file of the replica that answers. */
  readonly known: readonly number[];
  /** The live replicas. */
  readonly replicas: readonly ReplicaKeys[];
  /** How many headers and idempotency records each key seals, by the number of the key. */
  readonly sealedUnder: Readonly<Record<string, number>>;
  /** False where there were more idempotency records than were counted. */
  readonly countedAll: boolean;
  /** How many purged secrets logs and backups may still hold, by the number of the key. */
  readonly awaitingRetirement: Readonly<Record<string, number>>;
  /** The keys whose lines may be removed from every key file. */
  readonly removable: readonly number[];
}

/** An account that is limited, or near it. */
export interface LimitedAccount {
  /** The id of the account. */
  readonly accountId: string;
  /** The name of the account. */
  readonly name?: string | undefined;
  /** How full the window is, 0 to 1. */
  readonly fill: number;
  /** Requests refused in the last 60 s. */
  readonly refused: number;
  /** The same by key and operation, the most first. */
  readonly refusedBy: readonly RefusedByKey[];
  /** Since when it is limited; null where it is not. UTC with milliseconds. */
  readonly limitedSince: string | null;
  /** When its next request is free; null where it is not limited. UTC with milliseconds. */
  readonly liftsAt: string | null;
}

export interface ListAccountAppsQuery {
  /** The most entries of the page; 100 without it. */
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

export interface ListAccountsQuery {
  /** The most entries of the page; 100 without it. */
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

export interface ListAuditQuery {
  /** The most entries of the page; 100 without it. */
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
  readonly order?: AuditOrder | undefined;
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly app?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

export interface ListResourceBindingsQuery {
  /** The most entries of the page; 100 without it. */
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
  readonly namespace?: string | undefined;
}

export interface ListReviewQueueQuery {
  /** The most entries of the page; 100 without it. */
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
  readonly status?: ReviewStatus | undefined;
}

export interface ListRolloutsQuery {
  /** By which daemons the accounts are ranked, the most first; `failing` has the accounts of which at least three daemons, and half or more of those that poll, could not apply the configuration, by their number. */
  readonly by?: RolloutRanking | undefined;
  /** The most accounts that are listed; 20 without it. */
  readonly top?: number | undefined;
}

export interface ListServiceAuditQuery {
  /** The most entries of the page; 100 without it. */
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
  readonly order?: AuditOrder | undefined;
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly app?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** A user with the credentials that the user has: API keys, access tokens and sessions. */
export interface ListedUser {
  /** The id of the user. */
  readonly userId: string;
  /** The name by which others see the user. */
  readonly name: string;
  /** The name to sign in with; empty where there is none. */
  readonly login: string;
  /** When the user was made. UTC with milliseconds. */
  readonly createdAt: string;
  /** Whether the user is refused. */
  readonly disabled: boolean;
  /** Whether the user is an operator; `role` says the same, and the others. */
  readonly operator: boolean;
  readonly role: InstallationRole;
  readonly mappedRole: InstallationRole;
  /** Whether the provider’s groups make the user an operator. */
  readonly mappedOperator: boolean;
  /** Whether the user has a password. */
  readonly hasPassword: boolean;
  /** The number of passkeys. */
  readonly passkeys: number;
  /** The number of identities at the provider. */
  readonly identities: number;
  /** The number of living API keys that the user made. */
  readonly apiKeys: number;
  /** When one of these was last used, at most 60 s behind; null where none was. UTC with milliseconds. */
  readonly apiKeysLastUsedAt: string | null;
  /** The number of living access tokens of the user. */
  readonly accessTokens: number;
  /** When one of these was last used, at most 5 minutes behind; null where none was. UTC with milliseconds. */
  readonly accessTokensLastUsedAt: string | null;
  /** The number of browsers in which the user is signed in. */
  readonly sessions: number;
  /** When one of these was last used, at most 5 minutes behind; null without one. UTC with milliseconds. */
  readonly sessionsLastUsedAt: string | null;
  /** When the provider refused to renew anything for a user whose API keys still work; null for others, and once the provider lets the user in again. UTC with milliseconds. */
  readonly providerRefusedAt: string | null;
}

/** An API key with its account, without its text. */
export interface MadeApiKey {
  /** The id of the API key; it is no secret. */
  readonly keyId: string;
  /** The name for people. */
  readonly name: string;
  /** When the key was created. UTC with milliseconds. */
  readonly createdAt: string;
  /** When the key ends to be valid; null where it does not. UTC with milliseconds. */
  readonly expiresAt: string | null;
  readonly access: KeyAccess;
  /** The ranges of addresses, in CIDR notation, from which it may be used; all without any. */
  readonly allowedCidrs: readonly string[];
  /** When the secret before the last rotation ends; null where none works beside the present one. UTC with milliseconds. */
  readonly formerExpiresAt: string | null;
  /** Who made its secret, as the audit names actors: created it, or rotated it last; absent for keys of earlier versions. */
  readonly createdBy?: string | undefined;
  /** The name of the creator now; absent where there is none any more. */
  readonly createdByName?: string | undefined;
  /** When a request was last authenticated by it, at most a minute behind; null where none was. UTC with milliseconds. */
  readonly lastUsedAt: string | null;
  /** The requests that it authenticated today and on the six days before, in UTC, refused ones too; about ten minutes behind. */
  readonly calls7d: number;
  /** The id of the account. */
  readonly accountId: string;
  /** The name of the account. */
  readonly accountName: string;
}

/** The API keys that a user made. */
export interface MadeApiKeys {
  /** The living keys that the user made, oldest first. Where `createdBy` is another one, the user knows the former secret alone, which ends in place of the key. */
  readonly apiKeys: readonly MadeApiKey[];
  /** The living access tokens of the user, oldest first: they end with the role on their account. Absent where an access token asks. */
  readonly accessTokens?: readonly AccessToken[] | undefined;
  /** Living keys of the accounts that the user owns, or of this account, of which nobody knows who made them: somebody with an operator’s token, a custom resource, or an earlier version. They go on. */
  readonly ofNobodyKnown: readonly MadeApiKey[];
  /** Whether there are more keys than these. */
  readonly more: boolean;
}

/** The accounts that are limited, or near it. */
export interface RateLimits {
  /** Accounts that were refused in the last 60 s. */
  readonly limited: number;
  /** The most refused first, then the fullest. */
  readonly accounts: readonly LimitedAccount[];
}

export interface ReadRateLimitsQuery {
  /** The most accounts that are listed; 20 without it. */
  readonly top?: number | undefined;
}

export interface ReadUsageQuery {
  /** The month, 1970-01 or later. */
  readonly month: string;
  readonly accountId?: string | undefined;
  /** The most accounts of a page; without it, and without `after`, all accounts in one answer. */
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

/** The consent that a namespace takes up what is bound to former UIDs. */
export interface Recovery {
  /** The namespace. */
  readonly namespace: string;
  /** The UID of the namespace whose resources may take up what is bound. */
  readonly namespaceUid: string;
  /** When the consent ends. UTC with milliseconds. */
  readonly until: string;
}

/** The namespace that is recovered. */
export interface RecoveryRequest {
  /** The namespace. */
  readonly namespace: string;
  /** The UID of the namespace whose resources may take up what is bound. */
  readonly namespaceUid: string;
}

/** Refused requests of a key. */
export interface RefusedByKey {
  /** The API key. */
  readonly keyId: string;
  /** The name of the key; absent where it has none, or is revoked. */
  readonly keyName?: string | undefined;
  /** The method and the template of the path. */
  readonly operation: string;
  /** Requests refused in the last 60 s. */
  readonly refused: number;
}

/** The keys of a replica. */
export interface ReplicaKeys {
  /** The id of a live replica. */
  readonly replicaId: string;
  /** The keys that it knows. */
  readonly keyNumbers: readonly number[];
}

/** A custom resource, and what it stands for. */
export interface ResourceBinding {
  /** The UID of the resource that has the binding. */
  readonly uid: string;
  /** The kind of the resource. */
  readonly kind: string;
  /** The namespace of the resource. */
  readonly namespace: string;
  /** The name of the resource. */
  readonly name: string;
  /** The id of the account. */
  readonly accountId: string;
  /** The id of the app. */
  readonly appId?: string | undefined;
  /** The id of the API key; it is no secret. */
  readonly keyId?: string | undefined;
}

/** A page of bindings. */
export interface ResourceBindingPage {
  /** The bindings of the page. */
  readonly bindings: readonly ResourceBinding[];
  readonly recovery?: Recovery | undefined;
  /** The value of `after` for the next page; absent on the last one. */
  readonly next?: string | undefined;
}

/** A detection in the review queue. */
export interface ReviewEntry {
  /** The id of the entry of the review queue. */
  readonly entryId: string;
  /** The id of the app. */
  readonly appId: string;
  /** The name of the app; absent where it has none. */
  readonly appName?: string | undefined;
  /** When the daemon says that it happened. UTC with milliseconds. */
  readonly at: string;
  /** When the service received it. UTC with milliseconds. */
  readonly receivedAt: string;
  /** The rule that found it. */
  readonly rule: string;
  readonly severity: Severity;
  readonly evidence: Evidence;
  readonly status: ReviewStatus;
  /** The note of the decision. */
  readonly note?: string | undefined;
  /** When it left `open`. UTC with milliseconds. */
  readonly decidedAt?: string | undefined;
}

/** A page of the review queue. */
export interface ReviewPage {
  /** The entries of the page. */
  readonly entries: readonly ReviewEntry[];
  /** The value of `after` for the next page; absent on the last one. */
  readonly next?: string | undefined;
}

/** What was decided; `open` until then. */
export type ReviewStatus = 'open' | 'confirmed' | 'dismissed';

/** The rollout of a configuration. */
export interface Rollout {
  /** The revision of the configuration, or of its purge; 0 where none was stored. */
  readonly revision: number;
  /** The daemons that receive the configuration. */
  readonly devices: number;
  /** Those that applied the revision. */
  readonly applied: number;
  /** Those that could not apply it. */
  readonly failed: number;
  /** Those that have not acknowledged it yet. */
  readonly pending: number;
  /** Those that have been silent for three poll intervals, and for two minutes at least. */
  readonly stale: number;
  /** The newest 20 failures. */
  readonly failures: readonly RolloutFailure[];
  /** The failures by what was said, the most frequent first, at most 20. */
  readonly failuresByError: readonly RolloutError[];
  /** Who runs what: the daemons by the revision that they acknowledged last, the newest first, at most 20. */
  readonly acknowledged: readonly AcknowledgedRevision[];
  readonly health: FleetHealth;
  /** The 20 agents that turned unhealthy last. */
  readonly unhealthy: readonly UnhealthyAgent[];
}

/** What daemons said of a failure. */
export interface RolloutError {
  /** What daemons said. */
  readonly error: string;
  /** Daemons that said so. */
  readonly devices: number;
}

/** A daemon that could not apply the configuration. */
export interface RolloutFailure {
  /** The app of the daemon. */
  readonly appId: string;
  /** The name of the app; absent where it has none. */
  readonly name?: string | undefined;
  /** What the daemon said. */
  readonly error: string;
  /** When it said so. UTC with milliseconds. */
  readonly at: string;
  /** Whether the agent (OpAMP) is offered the empty configuration in place of the one that it could not load. */
  readonly emptied: boolean;
}

/** By which daemons the accounts are ranked, the most first; `failing` has the accounts of which at least three daemons, and half or more of those that poll, could not apply the configuration, by their number. */
export type RolloutRanking = 'failing' | 'failed' | 'pending' | 'stale';

/** The accounts whose rollouts stand out. */
export interface Rollouts {
  /** When all accounts had been counted; null while no leader has counted them. UTC with milliseconds. */
  readonly countedAt: string | null;
  /** Accounts of which three daemons or more, and half of those that poll, could not apply it. */
  readonly failing: number;
  /** The accounts that have such daemons, the most first. */
  readonly accounts: readonly AccountRollout[];
}

/** The rotation of an API key. */
export interface RotateApiKeyRequest {
  /** How long the secret before it works on, in seconds; 86400 without it, and 0: it ends at once. */
  readonly graceSeconds?: number | undefined;
}

/** An API key with the text of its new secret. */
export interface RotatedApiKey {
  /** The id of the API key; it is no secret. */
  readonly keyId: string;
  /** The name for people. */
  readonly name: string;
  /** The key, a secret: keep it now. */
  readonly apiKey: string;
  /** When the key was created. UTC with milliseconds. */
  readonly createdAt: string;
  /** When the key ends to be valid; null where it does not. UTC with milliseconds. */
  readonly expiresAt: string | null;
  readonly access: KeyAccess;
  /** The ranges of addresses, in CIDR notation, from which it may be used; all without any. */
  readonly allowedCidrs: readonly string[];
  /** When the secret before the last rotation ends; null where none works beside the present one. UTC with milliseconds. */
  readonly formerExpiresAt: string | null;
}

/** How grave a detection is. */
export type Severity = 'low' | 'medium' | 'high' | 'critical';

/** An agent that is unhealthy. */
export interface UnhealthyAgent {
  /** The app of the daemon. */
  readonly appId: string;
  /** The name of the app; absent where it has none. */
  readonly name?: string | undefined;
  /** What the daemon said. */
  readonly error: string;
  /** When it said so. UTC with milliseconds. */
  readonly at: string;
}

/** The usage of a month. */
export interface Usage {
  /** The month. */
  readonly month: string;
  /** The currency of the amounts, ISO 4217. */
  readonly currency: string;
  /** The price of a daemon for a month; null where the nights have different prices. */
  readonly pricePerDaemonMonth: string | null;
  /** Every night of the month that has ended is metered. */
  readonly complete: boolean;
  /** The month is over and complete: nothing of it changes any more. */
  readonly final: boolean;
  /** In the order of the ids; also accounts without nights. */
  readonly accounts: readonly AccountUsage[];
  readonly total: UsageTotal;
  /** The value of `after` for the next page; absent on the last one. */
  readonly next?: string | undefined;
}

/** A metered night. */
export interface UsageNight {
  /** The UTC day. */
  readonly day: string;
  /** Active daemons at its end. */
  readonly activeDaemons: number;
  /** Metered more than an hour after its midnight. */
  readonly late: boolean;
}

/** The sums. */
export interface UsageTotal {
  /** Over all accounts of the answer. */
  readonly daemonNights: number;
  /** The amount in minor units of the currency, such as cents. */
  readonly amountMinor: number;
}

/** A person who uses the panel. */
export interface User {
  /** The id of the user. */
  readonly userId: string;
  /** The name by which others see the user. */
  readonly name: string;
  /** The name to sign in with; empty where there is none. */
  readonly login: string;
  /** When the user was made. UTC with milliseconds. */
  readonly createdAt: string;
  /** Whether the user is refused. */
  readonly disabled: boolean;
  /** Whether the user is an operator; `role` says the same, and the others. */
  readonly operator: boolean;
  readonly role: InstallationRole;
  readonly mappedRole: InstallationRole;
  /** Whether the provider’s groups make the user an operator. */
  readonly mappedOperator: boolean;
  /** Whether the user has a password. */
  readonly hasPassword: boolean;
  /** The number of passkeys. */
  readonly passkeys: number;
  /** The number of identities at the provider. */
  readonly identities: number;
}

/** A link of a single use for a user. */
export interface UserLink {
  /** The id of the link; it is no secret. */
  readonly linkId: string;
  /** The address to send to the person, a secret: whoever opens it first is let in. */
  readonly url: string;
  /** When the link ends to be valid. UTC with milliseconds. */
  readonly expiresAt: string;
}

/** The users of the panel. */
export interface UserList {
  /** The users, by name. */
  readonly users: readonly ListedUser[];
}
