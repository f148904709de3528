import type { Account } from '../../src/api/contract/operator/accounts.ts';
import type { CreatedApiKey, ListedApiKey } from '../../src/api/contract/operator/api-keys.ts';
import type { ConsentedApp } from '../../src/api/contract/operator/apps.ts';
import type { AuditVerification } from '../../src/api/contract/operator/audit.ts';
import type { ReviewEntry } from '../../src/api/contract/operator/review-queue.ts';
import type { KeyStatus, RateLimits, Rollout } from '../../src/api/contract/operator/service.ts';
import type { Usage } from '../../src/api/contract/operator/usage.ts';
import type { MadeApiKeys, User } from '../../src/api/contract/operator/users.ts';
import type { AccountRate, Overview } from '../../src/api/contract/panel/account.ts';
import type { PanelApp, PanelAppDetail } from '../../src/api/contract/panel/apps.ts';
import type { Configuration } from '../../src/api/contract/panel/configuration.ts';
import type { AuditEntry, AuditPage, ReviewCounts } from '../../src/api/contract/panel/history.ts';
import type { Link, MadeLink } from '../../src/api/contract/panel/links.ts';
import type { Me, OwnSession, RefusedSignIns } from '../../src/api/contract/panel/me.ts';
import type { Invitation, Member } from '../../src/api/contract/panel/members.ts';
import type { Found, ServiceState } from '../../src/api/contract/panel/operator.ts';
import type { LinkedIdentity, Passkey } from '../../src/api/contract/panel/own-sign-in.ts';
import type { SignInMethods, SignInStep } from '../../src/api/contract/panel/sign-in.ts';
import { addressOf, ask } from './client.ts';

/* The operations of `/panel/v1` as functions; their types are those of the service's own contract. */

export type {
  Account,
  AccountRate,
  AuditEntry,
  AuditPage,
  AuditVerification,
  Configuration,
  ConsentedApp,
  CreatedApiKey,
  Found,
  Invitation,
  KeyStatus,
  Link,
  LinkedIdentity,
  ListedApiKey,
  MadeApiKeys,
  MadeLink,
  Me,
  Member,
  Overview,
  OwnSession,
  PanelApp,
  PanelAppDetail,
  Passkey,
  RateLimits,
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
type Signal = { readonly signal?: AbortSignal };

/** A new app with its enrollment code, a secret that no other answer shows. */
export interface CreatedApp {
  readonly appId: string;
  readonly name: string;
  readonly enrollCode: string;
  readonly enrollCodeExpiresAt: string;
}
export interface IssuedCode {
  readonly enrollCode: string;
  readonly expiresAt: string;
}
/** What a change of the configuration says. Without `authHeader` the stored one stays; an empty text deletes it. */
export interface ConfigurationChange {
  readonly enabled: boolean;
  readonly endpoint: string;
  readonly authHeader?: string;
  readonly evidenceLevel: Configuration['evidenceLevel'];
  /** The tag of the configuration that was shown. */
  readonly seen: string;
}
export interface AuditQuestion {
  readonly limit?: number;
  readonly before?: string;
  readonly actor?: string;
  readonly action?: string;
  readonly appId?: string;
  readonly from?: string;
  readonly to?: string;
}

export const signIn = {
  methods: () => ask<SignInMethods>('/sign-in'),
  password: (login: string, password: string) =>
    ask<SignInStep>('/sign-in/password', { method: 'POST', body: { login, password } }),
  passkeyOptions: () => ask<{ options: object }>('/sign-in/passkey/options', { method: 'POST' }),
  passkey: (response: object) => ask<SignInStep>('/sign-in/passkey', { method: 'POST', body: { response } }),
  /** Where the browser goes to sign in at the provider. */
  providerAddress: addressOf('/sign-in/provider'),
};

export const links = {
  read: (token: string) => ask<Link>('/links/read', { method: 'POST', body: { token } }),
  accept: (body: { token: string; name?: string; login?: string; password?: string }) =>
    ask<{ accountId?: string }>('/links/accept', { method: 'POST', body }),
};

export const me = {
  read: (signal?: AbortSignal) => ask<Me>('/me', { ...(signal && { signal }) }),
  rename: (name: string) => ask<Me>('/me', { method: 'PATCH', body: { name } }),
  signOut: () => ask<{ providerUrl?: string }>('/sign-out', { method: 'POST' }),
  sessions: (with_: Signal = {}) => ask<{ sessions: OwnSession[] }>('/me/sessions', with_),
  refusedSignIns: (with_: Signal = {}) => ask<RefusedSignIns>('/me/refused-sign-ins', with_),
  endSession: (sessionId: string) => ask<undefined>(`/me/sessions/${sessionId}`, { method: 'DELETE' }),
  setPassword: (body: { current?: string; password: string; removePasskeys?: string[]; unlinkIdentities?: string[] }) =>
    ask<undefined>('/me/password', { method: 'PUT', body }),
  passkeys: (with_: Signal = {}) => ask<{ passkeys: Passkey[] }>('/me/passkeys', with_),
  identities: (with_: Signal = {}) => ask<{ identities: LinkedIdentity[] }>('/me/identities', with_),
  passkeyOptions: () => ask<{ options: object }>('/me/passkeys/options', { method: 'POST' }),
  addPasskey: (name: string, response: object) =>
    ask<Passkey>('/me/passkeys', { method: 'POST', body: { name, response } }),
  removePasskey: (passkeyId: string) => ask<undefined>(`/me/passkeys/${passkeyId}`, { method: 'DELETE' }),
  linkProvider: () => ask<{ url: string }>('/me/provider', { method: 'POST' }),
  /** Asks the person for a proof, unless there is a fresh one. */
  proof: () => ask<undefined>('/me/proof'),
  proveByPassword: (password: string) => ask<undefined>('/me/proof/password', { method: 'POST', body: { password } }),
  passkeyProofOptions: () => ask<{ options: object }>('/me/proof/passkey/options', { method: 'POST' }),
  proveByPasskey: (response: object) => ask<undefined>('/me/proof/passkey', { method: 'POST', body: { response } }),
  /** Where the browser goes to prove at the provider who the user is. */
  providerProofAddress: addressOf('/me/proof/provider'),
  unlinkProvider: () => ask<undefined>('/me/provider', { method: 'DELETE' }),
};

/** The keys that go on where their maker goes, for a request without a body. */
const keptKeys = (ids: readonly string[]): Record<string, string> =>
  ids.length === 0 ? {} : { keepKeys: ids.join(',') };

/** The operations on one account. */
export const account = (accountId: string) => {
  const at = (path: string): string => `/accounts/${accountId}${path}`;
  return {
    overview: (with_: Signal = {}) => ask<Overview>(at('/overview'), with_),
    rate: (with_: Signal = {}) => ask<AccountRate>(at('/rate-limit'), with_),
    apps: (with_: Signal = {}) => ask<{ apps: PanelApp[] }>(at('/apps'), with_),
    app: (appId: string, with_: Signal = {}) => ask<PanelAppDetail>(at(`/apps/${appId}`), with_),
    createApp: (name: string, idempotencyKey: string) =>
      ask<CreatedApp>(at('/apps'), { method: 'POST', body: { name }, idempotencyKey }),
    issueCode: (appId: string, idempotencyKey: string) =>
      ask<IssuedCode>(at(`/apps/${appId}/enroll-code`), { method: 'POST', idempotencyKey }),
    revokeApp: (appId: string) => ask<unknown>(at(`/apps/${appId}/revoke`), { method: 'POST' }),
    deleteApp: (appId: string) => ask<undefined>(at(`/apps/${appId}`), { method: 'DELETE' }),
    configuration: (with_: Signal = {}) => ask<Configuration>(at('/otel-config'), with_),
    storeConfiguration: (body: ConfigurationChange) => ask<Configuration>(at('/otel-config'), { method: 'PUT', body }),
    purgeConfiguration: () => ask<unknown>(at('/otel-config'), { method: 'DELETE' }),
    rollout: (with_: Signal = {}) => ask<Rollout>(at('/rollout'), with_),
    keys: (with_: Signal = {}) => ask<{ apiKeys: ListedApiKey[] }>(at('/api-keys'), with_),
    createKey: (body: { name: string; expiresAt: string | null }, idempotencyKey: string) =>
      ask<CreatedApiKey>(at('/api-keys'), { method: 'POST', body, idempotencyKey }),
    revokeKey: (keyId: string) => ask<undefined>(at(`/api-keys/${keyId}`), { method: 'DELETE' }),
    reviews: (query: { status?: string; limit?: number; after?: string }, with_: Signal = {}) =>
      ask<{ entries: ReviewEntry[]; next?: string }>(at('/review-queue'), { query, ...with_ }),
    reviewCounts: (with_: Signal = {}) => ask<ReviewCounts>(at('/review-queue/counts'), with_),
    decide: (entryId: string, body: { status: ReviewEntry['status']; note?: string }) =>
      ask<ReviewEntry>(at(`/review-queue/${entryId}`), { method: 'PATCH', body }),
    usage: (month: string, with_: Signal = {}) => ask<Usage>(at('/usage'), { query: { month }, ...with_ }),
    /** Where the browser downloads the nights of a month. */
    usageAddress: (month: string, format: 'csv' | 'events') => addressOf(at('/usage'), { month, format }),
    audit: (query: AuditQuestion, with_: Signal = {}) =>
      ask<AuditPage>(at('/audit'), { query: { ...query }, ...with_ }),
    verifyAudit: (with_: Signal = {}) => ask<AuditVerification>(at('/audit/verification'), with_),
    members: (with_: Signal = {}) => ask<{ members: Member[] }>(at('/members'), with_),
    changeMember: (userId: string, role: Role, keepKeys: readonly string[]) =>
      ask<undefined>(at(`/members/${userId}`), { method: 'PATCH', body: { role, keepKeys } }),
    removeMember: (userId: string, keepKeys: readonly string[]) =>
      ask<undefined>(at(`/members/${userId}`), { method: 'DELETE', query: keptKeys(keepKeys) }),
    memberKeys: (userId: string, with_: Signal = {}) => ask<MadeApiKeys>(at(`/members/${userId}/api-keys`), with_),
    invitations: (with_: Signal = {}) => ask<{ invitations: Invitation[] }>(at('/invitations'), with_),
    invite: (role: Role) => ask<MadeLink>(at('/invitations'), { method: 'POST', body: { role } }),
    withdrawInvitation: (linkId: string) => ask<undefined>(at(`/invitations/${linkId}`), { method: 'DELETE' }),
    read: (with_: Signal = {}) => ask<Account>(at(''), with_),
    change: (
      body: Partial<Pick<Account, 'name' | 'entitlement' | 'disabled'>> & {
        adoptableBy?: string | null;
        quotaMb?: number | null;
      },
    ) => ask<Account>(at(''), { method: 'PATCH', body }),
    consents: (query: { limit?: number; after?: string }, with_: Signal = {}) =>
      ask<{ apps: ConsentedApp[]; next?: string }>(at('/consents'), { query, ...with_ }),
    changeConsent: (appId: string, adoptableBy: string | null) =>
      ask<ConsentedApp>(at(`/consents/${appId}`), { method: 'PATCH', body: { adoptableBy } }),
  };
};

/** The operations of the platform team. */
export const operator = {
  accounts: (query: { limit?: number; after?: string }, with_: Signal = {}) =>
    ask<{ accounts: Account[]; next?: string }>('/accounts', { query, ...with_ }),
  createAccount: (body: { name: string; entitlement: Account['entitlement'] }, idempotencyKey: string) =>
    ask<Account>('/accounts', { method: 'POST', body, idempotencyKey }),
  find: (text: string, with_: Signal = {}) => ask<Found>('/find', { query: { text }, ...with_ }),
  users: (with_: Signal = {}) => ask<{ users: User[] }>('/users', with_),
  createUser: (body: { name: string; login: string; operator?: boolean }) =>
    ask<{ user: User; link: MadeLink }>('/users', { method: 'POST', body }),
  changeUser: (
    userId: string,
    body: { name?: string; disabled?: boolean; operator?: boolean; keepKeys?: readonly string[] },
  ) => ask<User>(`/users/${userId}`, { method: 'PATCH', body }),
  deleteUser: (userId: string, keepKeys: readonly string[]) =>
    ask<undefined>(`/users/${userId}`, { method: 'DELETE', query: keptKeys(keepKeys) }),
  userKeys: (userId: string, with_: Signal = {}) => ask<MadeApiKeys>(`/users/${userId}/api-keys`, with_),
  resetUser: (userId: string) => ask<MadeLink>(`/users/${userId}/reset`, { method: 'POST' }),
  userSessions: (userId: string, with_: Signal = {}) =>
    ask<{ sessions: OwnSession[] }>(`/users/${userId}/sessions`, with_),
  endUserSession: (userId: string, sessionId: string) =>
    ask<undefined>(`/users/${userId}/sessions/${sessionId}`, { method: 'DELETE' }),
  limits: (with_: Signal = {}) => ask<RateLimits>('/rate-limits', with_),
  keys: (with_: Signal = {}) => ask<KeyStatus>('/keys', with_),
  rotateKeys: () => ask<{ writing: number; before: number }>('/keys/rotation', { method: 'POST' }),
  usage: (month: string, with_: Signal = {}) => ask<Usage>('/usage', { query: { month }, ...with_ }),
  audit: (query: AuditQuestion, with_: Signal = {}) => ask<AuditPage>('/audit', { query: { ...query }, ...with_ }),
  verifyAudit: (with_: Signal = {}) => ask<AuditVerification>('/audit/verification', with_),
  service: (with_: Signal = {}) => ask<ServiceState>('/service', with_),
  /** Where the browser downloads a backup. */
  backupAddress: addressOf('/backup', { count: 'true' }),
};
