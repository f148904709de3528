import type { Account } from '../../src/api/contract/operator/accounts.ts';
import type { ListedApiKey } from '../../src/api/contract/operator/api-keys.ts';
import type { ConsentedApp } from '../../src/api/contract/operator/apps.ts';
import type { AuditVerification } from '../../src/api/contract/operator/audit.ts';
import type { ReviewEntry } from '../../src/api/contract/operator/review-queue.ts';
import type { KeyStatus } from '../../src/api/contract/operator/service.ts';
import type { Usage } from '../../src/api/contract/operator/usage.ts';
import type { ListedUser, MadeApiKeys, User } from '../../src/api/contract/operator/users.ts';
import type { ListedAccessToken } from '../../src/api/contract/operator/listed-token.ts';
import type { MadeAccessToken } from '../../src/api/contract/panel/access-tokens/operations.ts';
import type { AccountRate, Overview } from '../../src/api/contract/panel/account.ts';
import type { PanelAppDetail } from '../../src/api/contract/panel/apps/apps.ts';
import type {
  AccountRollout as Rollout,
  Configuration,
  ConfigurationRevision,
} from '../../src/api/contract/panel/configuration.ts';
import type { FleetHistory } from '../../src/api/contract/panel/fleet-history.ts';
import type { AuditEntry, AuditPage, ReviewCounts } from '../../src/api/contract/panel/history.ts';
import type { Link, MadeLink } from '../../src/api/contract/panel/links.ts';
import type { Me, OwnSession } from '../../src/api/contract/panel/me.ts';
import type { Invitation, Member } from '../../src/api/contract/panel/members.ts';
import type { ServiceState } from '../../src/api/contract/panel/operator.ts';
import type { Passkey } from '../../src/api/contract/panel/own-sign-in.ts';
import type { SignInMethods, SignInStep } from '../../src/api/contract/panel/sign-in.ts';
import type { PanelApp } from './app-list.ts';
import { addressOf, ask } from './client.ts';
import type { AnswerTo } from './operations.ts';
import { readApps } from './read-apps.ts';

/* The operations of `/panel/v1` as functions; their types are those of the service's own contract. */

export type {
  Account,
  AccountRate,
  AuditEntry,
  AuditPage,
  AuditVerification,
  Configuration,
  ConfigurationRevision,
  ConsentedApp,
  FleetHistory,
  Invitation,
  KeyStatus,
  Link,
  ListedAccessToken,
  ListedApiKey,
  ListedUser,
  MadeAccessToken,
  MadeApiKeys,
  MadeLink,
  Me,
  Member,
  Overview,
  OwnSession,
  PanelApp,
  PanelAppDetail,
  Passkey,
  ReviewCounts,
  ReviewEntry,
  Rollout,
  ServiceState,
  SignInMethods,
  SignInStep,
  Usage,
  User,
};

export type Role = 'owner' | 'viewer';
/** What WebAuthn exchanges with the service. */
export type WebAuthn = Readonly<Record<string, unknown>>;
type Signal = { readonly signal?: AbortSignal };
type KeyScope = Pick<ListedApiKey, 'access' | 'allowedCidrs'>;

type AppChange = 'create' | 'issue-code' | 'revoke' | 'delete';
/** A new app with its enrollment code, a secret that no other answer shows. */
export type CreatedApp = AnswerTo<'POST /accounts/:accountId/apps'>;
export type Delivery = AnswerTo<'GET /accounts/:accountId/rollout/apps'>['apps'][number];
export type AuditNames = AnswerTo<'GET /audit/names'>;
export type CollectorTest = AnswerTo<'POST /accounts/:accountId/otel-config/test'>;
export type IssuedCode = AnswerTo<'POST /accounts/:accountId/apps/:appId/enroll-code'>;
/** What a change of the configuration says. Without `authHeader` the stored one stays; an empty text deletes it. */
export interface ConfigurationChange {
  readonly enabled: boolean;
  readonly endpoint: string;
  readonly authHeader?: string;
  readonly evidenceLevel: Configuration['evidenceLevel'];
  /** The tag of the configuration that was shown. */
  readonly seen: string;
}
export interface AuditQuestion extends AuditFilters {
  readonly limit?: number;
  readonly before?: string;
}
export interface AuditFilters {
  readonly actor?: string;
  /** Such as `key:ID`; `app:ID` is asked for by `appId`. */
  readonly target?: string;
  readonly action?: string;
  readonly appId?: string;
  readonly from?: string;
  readonly to?: string;
}

export type AuditFormat = 'csv' | 'jsonl';

export const signIn = {
  methods: () => ask('GET /sign-in'),
  password: (login: string, password: string) => ask('POST /sign-in/password', { body: { login, password } }),
  passkeyOptions: () => ask('POST /sign-in/passkey/options'),
  passkey: (response: WebAuthn) => ask('POST /sign-in/passkey', { body: { response } }),
  /** Where the browser goes to sign in at the provider. */
  providerAddress: addressOf('GET /sign-in/provider'),
};

/** The addresses at which daemons and programs reach the service. */
export const readAddresses = (with_: Signal = {}) => ask('GET /addresses', with_);

export const links = {
  read: (token: string) => ask('POST /links/read', { body: { token } }),
  accept: (body: { token: string; name?: string; login?: string; password?: string }) =>
    ask('POST /links/accept', { body }),
};

export const me = {
  read: (signal?: AbortSignal) => ask('GET /me', { ...(signal && { signal }) }),
  rename: (name: string) => ask('PATCH /me', { body: { name } }),
  signOut: () => ask('POST /sign-out'),
  sessions: (with_: Signal = {}) => ask('GET /me/sessions', with_),
  refusedSignIns: (with_: Signal = {}) => ask('GET /me/refused-sign-ins', with_),
  endSession: (sessionId: string) => ask('DELETE /me/sessions/:sessionId', { sessionId }),
  accessTokens: (with_: Signal = {}) => ask('GET /me/access-tokens', with_),
  createAccessToken: (body: { name: string; accountId: string; role: 'viewer' | 'owner'; expiresAt?: string }) =>
    ask('POST /me/access-tokens', { body }),
  revokeAccessToken: (tokenId: string) => ask('DELETE /me/access-tokens/:tokenId', { tokenId }),
  setPassword: (body: { current?: string; password: string; removePasskeys?: string[]; unlinkIdentities?: string[] }) =>
    ask('PUT /me/password', { body }),
  passkeys: (with_: Signal = {}) => ask('GET /me/passkeys', with_),
  identities: (with_: Signal = {}) => ask('GET /me/identities', with_),
  passkeyOptions: () => ask('POST /me/passkeys/options'),
  addPasskey: (name: string, response: WebAuthn) => ask('POST /me/passkeys', { body: { name, response } }),
  removePasskey: (passkeyId: string) => ask('DELETE /me/passkeys/:passkeyId', { passkeyId }),
  linkProvider: () => ask('POST /me/provider'),
  /** Asks the person for a proof, unless there is a fresh one. */
  proof: () => ask('GET /me/proof'),
  proveByPassword: (password: string) => ask('POST /me/proof/password', { body: { password } }),
  passkeyProofOptions: () => ask('POST /me/proof/passkey/options'),
  proveByPasskey: (response: WebAuthn) => ask('POST /me/proof/passkey', { body: { response } }),
  /** Where the browser goes to prove at the provider who the user is. */
  providerProofAddress: addressOf('GET /me/proof/provider'),
  unlinkProvider: () => ask('DELETE /me/provider'),
};

/** The keys that go on where their maker goes, for a request without a body. */
const keptKeys = (ids: readonly string[]): Record<string, string> =>
  ids.length === 0 ? {} : { keepKeys: ids.join(',') };

/** The operations on one account. */
export const account = (accountId: string) => ({
  overview: (with_: Signal = {}) => ask('GET /accounts/:accountId/overview', { accountId, ...with_ }),
  rate: (with_: Signal = {}) => ask('GET /accounts/:accountId/rate-limit', { accountId, ...with_ }),
  fleetHistory: (range: FleetHistory['range'], with_: Signal = {}) =>
    ask('GET /accounts/:accountId/fleet-history', { accountId, query: { range }, ...with_ }),
  apps: (with_: Signal = {}) => readApps(accountId, with_),
  app: (appId: string, with_: Signal = {}) =>
    ask('GET /accounts/:accountId/apps/:appId', { accountId, appId, ...with_ }),
  /** Changes up to 100 apps: new ones by their names, others by their ids. */
  changeApps: (change: AppChange, apps: readonly string[], idempotencyKey: string) =>
    ask('POST /accounts/:accountId/apps/batch', { accountId, body: { change, apps: [...apps] }, idempotencyKey }),
  issueCode: (appId: string, idempotencyKey: string) =>
    ask('POST /accounts/:accountId/apps/:appId/enroll-code', { accountId, appId, idempotencyKey }),
  revokeApp: (appId: string) => ask('POST /accounts/:accountId/apps/:appId/revoke', { accountId, appId }),
  deleteApp: (appId: string) => ask('DELETE /accounts/:accountId/apps/:appId', { accountId, appId }),
  configuration: (with_: Signal = {}) => ask('GET /accounts/:accountId/otel-config', { accountId, ...with_ }),
  storeConfiguration: (body: ConfigurationChange) => ask('PUT /accounts/:accountId/otel-config', { accountId, body }),
  revisions: (with_: Signal = {}) => ask('GET /accounts/:accountId/otel-config/revisions', { accountId, ...with_ }),
  restoreConfiguration: (body: { revision: number; seen: string; authHeader?: string }) =>
    ask('POST /accounts/:accountId/otel-config/restore', { accountId, body }),
  testCollector: () => ask('POST /accounts/:accountId/otel-config/test', { accountId }),
  purgeConfiguration: () => ask('DELETE /accounts/:accountId/otel-config', { accountId }),
  deliveries: (with_: Signal = {}) => ask('GET /accounts/:accountId/rollout/apps', { accountId, ...with_ }),
  rollout: (with_: Signal = {}) => ask('GET /accounts/:accountId/rollout', { accountId, ...with_ }),
  keys: (with_: Signal = {}) => ask('GET /accounts/:accountId/api-keys', { accountId, ...with_ }),
  createKey: (body: KeyScope & { name: string; expiresAt: string | null }, idempotencyKey: string) =>
    ask('POST /accounts/:accountId/api-keys', { accountId, body, idempotencyKey }),
  rotateKey: (keyId: string, graceSeconds: number, idempotencyKey: string) =>
    ask('POST /accounts/:accountId/api-keys/:keyId/rotation', {
      accountId,
      keyId,
      body: { graceSeconds },
      idempotencyKey,
    }),
  expireKey: (keyId: string, expiresAt: string) =>
    ask('PATCH /accounts/:accountId/api-keys/:keyId', { accountId, keyId, body: { expiresAt } }),
  narrowKey: (keyId: string, scope: KeyScope) =>
    ask('PATCH /accounts/:accountId/api-keys/:keyId', { accountId, keyId, body: { ...scope } }),
  endKeyOverlap: (keyId: string, formerExpiresAt: string) =>
    ask('DELETE /accounts/:accountId/api-keys/:keyId/former-secret', { accountId, keyId, query: { formerExpiresAt } }),
  revokeKey: (keyId: string) => ask('DELETE /accounts/:accountId/api-keys/:keyId', { accountId, keyId }),
  reviews: (query: { status?: ReviewEntry['status']; limit?: number; after?: string }, with_: Signal = {}) =>
    ask('GET /accounts/:accountId/review-queue', { accountId, query, ...with_ }),
  reviewCounts: (with_: Signal = {}) => ask('GET /accounts/:accountId/review-queue/counts', { accountId, ...with_ }),
  decide: (entryId: string, body: { status: ReviewEntry['status']; note?: string }) =>
    ask('PATCH /accounts/:accountId/review-queue/:entryId', { accountId, entryId, body }),
  usage: (month: string, with_: Signal = {}) =>
    ask('GET /accounts/:accountId/usage', { accountId, query: { month }, ...with_ }),
  /** Where the browser downloads the nights of a month. */
  usageAddress: (month: string, format: 'csv' | 'events') =>
    addressOf('GET /accounts/:accountId/usage', { accountId, query: { month, format } }),
  audit: (query: AuditQuestion, with_: Signal = {}) =>
    ask('GET /accounts/:accountId/audit', { accountId, query: { ...query }, ...with_ }),
  /** The address at which the browser downloads what the filters let through. */
  auditAddress: (filters: AuditFilters, format: AuditFormat) =>
    addressOf('GET /accounts/:accountId/audit/export', { accountId, query: { ...filters, format } }),
  auditNames: (with_: Signal = {}) => ask('GET /accounts/:accountId/audit/names', { accountId, ...with_ }),
  verifyAudit: (with_: Signal = {}) => ask('GET /accounts/:accountId/audit/verification', { accountId, ...with_ }),
  members: (with_: Signal = {}) => ask('GET /accounts/:accountId/members', { accountId, ...with_ }),
  changeMember: (userId: string, role: Role, keepKeys: readonly string[]) =>
    ask('PATCH /accounts/:accountId/members/:userId', { accountId, userId, body: { role, keepKeys } }),
  removeMember: (userId: string, keepKeys: readonly string[]) =>
    ask('DELETE /accounts/:accountId/members/:userId', { accountId, userId, query: keptKeys(keepKeys) }),
  memberKeys: (userId: string, with_: Signal = {}) =>
    ask('GET /accounts/:accountId/members/:userId/api-keys', { accountId, userId, ...with_ }),
  invitations: (with_: Signal = {}) => ask('GET /accounts/:accountId/invitations', { accountId, ...with_ }),
  invite: (role: Role, note: string) =>
    ask('POST /accounts/:accountId/invitations', { accountId, body: { role, note } }),
  withdrawInvitation: (linkId: string) => ask('DELETE /accounts/:accountId/invitations/:linkId', { accountId, linkId }),
  read: (with_: Signal = {}) => ask('GET /accounts/:accountId', { accountId, ...with_ }),
  change: (
    body: Partial<Pick<Account, 'name' | 'entitlement' | 'disabled'>> & {
      adoptableBy?: string | null;
      quotaMb?: number | null;
    },
  ) => ask('PATCH /accounts/:accountId', { accountId, body }),
  consents: (query: { limit?: number; after?: string }, with_: Signal = {}) =>
    ask('GET /accounts/:accountId/consents', { accountId, query, ...with_ }),
  changeConsent: (appId: string, adoptableBy: string | null) =>
    ask('PATCH /accounts/:accountId/consents/:appId', { accountId, appId, body: { adoptableBy } }),
});

/** The operations of the platform team. */
export const operator = {
  accounts: (query: { limit?: number; after?: string }, with_: Signal = {}) =>
    ask('GET /accounts', { query, ...with_ }),
  createAccount: (body: { name: string; entitlement: Account['entitlement'] }, idempotencyKey: string) =>
    ask('POST /accounts', { body, idempotencyKey }),
  find: (text: string, with_: Signal = {}) => ask('GET /find', { query: { text }, ...with_ }),
  users: (with_: Signal = {}) => ask('GET /users', with_),
  createUser: (body: { name: string; login: string; role?: User['role'] }) => ask('POST /users', { body }),
  changeUser: (
    userId: string,
    body: { name?: string; disabled?: boolean; role?: User['role']; keepKeys?: readonly string[] },
  ) => ask('PATCH /users/:userId', { userId, body }),
  deleteUser: (userId: string, keepKeys: readonly string[]) =>
    ask('DELETE /users/:userId', { userId, query: keptKeys(keepKeys) }),
  userKeys: (userId: string, with_: Signal = {}) => ask('GET /users/:userId/api-keys', { userId, ...with_ }),
  resetUser: (userId: string) => ask('POST /users/:userId/reset', { userId }),
  userSessions: (userId: string, with_: Signal = {}) => ask('GET /users/:userId/sessions', { userId, ...with_ }),
  endUserSession: (userId: string, sessionId: string) =>
    ask('DELETE /users/:userId/sessions/:sessionId', { userId, sessionId }),
  limits: (with_: Signal = {}) => ask('GET /rate-limits', with_),
  keys: (with_: Signal = {}) => ask('GET /keys', with_),
  rotateKeys: () => ask('POST /keys/rotation'),
  usage: (month: string, with_: Signal = {}) => ask('GET /usage', { query: { month }, ...with_ }),
  audit: (query: AuditQuestion, with_: Signal = {}) => ask('GET /audit', { query: { ...query }, ...with_ }),
  auditAddress: (filters: AuditFilters, format: AuditFormat) =>
    addressOf('GET /audit/export', { query: { ...filters, format } }),
  auditNames: (with_: Signal = {}) => ask('GET /audit/names', with_),
  verifyAudit: (with_: Signal = {}) => ask('GET /audit/verification', with_),
  service: (with_: Signal = {}) => ask('GET /service', with_),
  /** Where the browser downloads a backup. */
  backupAddress: addressOf('GET /backup', { query: { count: 'true' } }),
};
