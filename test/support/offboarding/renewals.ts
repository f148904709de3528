import type { GroupRule } from '../../../src/config/panel.ts';
import { Secret } from '../../../src/domain/credentials/secret.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { SessionRecord, UserRecord } from '../../../src/domain/records/user-records.ts';
import { createRefreshTokens } from '../../../src/domain/sessions/refresh-tokens.ts';
import { createProviderUsers, type ProviderUsers } from '../../../src/domain/users/provider-users.ts';
import { ProviderFault } from '../../../src/oidc/provider-fault.ts';
import { createRenewRoles } from '../../../src/oidc/renew-roles.ts';
import { createLog } from '../../../src/log.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { putUser, rewrite, signedIn } from '../panel/panel-users.ts';
import { openedCore, type OpenedCore } from '../service/opened-core.ts';
import type { Backend } from '../store/backends.ts';
import { rawPut } from '../store/raw-key.ts';
import { until } from '../time/until.ts';

/* Rounds of renewals at a provider that answers what a test says, by the text of each refresh token. */

const ISSUER = 'https://id.example.com';
export const MINUTE_MS = 60_000;
const ACCOUNT_ID = 'a1b2c3d4e5f6g7h8';
const RULES: readonly GroupRule[] = [{ group: 'owners', role: 'owner', accountId: ACCOUNT_ID }];
const OWNER = { operator: false, accounts: [{ accountId: ACCOUNT_ID, role: 'owner' as const }] };

/** The provider refuses the token: by OAuth, and for its own sake. */
export const refused = (): never => {
  throw new ProviderFault('refused', Object.assign(new Error('refused'), { error: 'invalid_grant' }));
};
/** It refuses with another code of OAuth. */
export const refusedFor = (error: string) => (): never => {
  throw new ProviderFault('refused', Object.assign(new Error('refused'), { error }));
};
/** It does not answer. */
export const away = (): never => {
  throw new ProviderFault('unavailable', undefined);
};

interface PersonOptions {
  /** The age of the roles. */
  readonly minutesAgo?: number;
}

/** A person who signed in at the provider. */
interface RenewedPerson {
  readonly userId: string;
  /** Signs in so long ago. @param token `null` where the provider gave none @returns the id of the session */
  session(token: string | null, minutesAgo: number, more?: Partial<SessionRecord>): Promise<string>;
  readonly record: () => Promise<UserRecord>;
  /** The provider has refused the person. */
  readonly isRefused: () => Promise<boolean>;
  /** An answer of the provider has come a moment ago. */
  readonly hasAnswer: () => Promise<void>;
  /** Makes an API key. @returns whether it works */
  madeKey(): Promise<() => Promise<boolean>>;
  /** Makes an access token. */
  madeToken(): Promise<void>;
  /** The number of access tokens. */
  tokens(): Promise<number>;
}

/** An installation with a provider. */
export interface Renewals extends AsyncDisposable {
  readonly core: OpenedCore['core'];
  readonly providerUsers: ProviderUsers;
  /** The claims by which the provider answers a token, or its refusal; where nothing is said, the role is renewed. */
  readonly provider: Record<string, () => Readonly<Record<string, unknown>>>;
  /** The tokens with which it was asked. */
  readonly asked: string[];
  /** The errors of the log. */
  readonly errors: string[];
  /** The rules of groups. */
  rules: readonly GroupRule[];
  /** Is called before each answer. */
  before: () => Promise<void>;
  person(subject?: string, options?: PersonOptions): Promise<RenewedPerson>;
  round(): Promise<void>;
  isThere(sessionId: string): Promise<boolean>;
  rewriteRefresh(sessionId: string, change: (record: Record<string, unknown>) => object): Promise<void>;
  /** A minute later, as the claim of a token has it. */
  claimIsOver(sessionId: string): Promise<void>;
}

export async function renewals(backend: Backend, wrapStore?: (store: Store) => Store): Promise<Renewals> {
  const it = await openedCore(backend, wrapStore ? { wrapStore } : {});
  const { core, domain } = it;
  const { store, clock } = core;
  const refreshTokens = createRefreshTokens(core);
  const providerUsers = createProviderUsers(domain.userDeps);
  const provider: Renewals['provider'] = {};
  const [asked, errors]: [string[], string[]] = [[], []];
  const log = createLog('error', { write: (line: string) => void errors.push(line) });
  const isThere = async (sessionId: string): Promise<boolean> =>
    (await store.get(KEYS.session(sessionId))) !== undefined;
  const parsed = async <T>(key: string): Promise<T | undefined> => {
    const entry = await store.get(key);
    return entry && (JSON.parse(entry.value) as T);
  };
  const made: Renewals = {
    core,
    providerUsers,
    provider,
    asked,
    errors,
    rules: RULES,
    before: async () => undefined,
    async person(subject = 'ann', { minutesAgo = 50 } = {}) {
      const identity = { issuer: ISSUER, subject };
      const mapped = { ...OWNER, at: clock.now() - minutesAgo * MINUTE_MS };
      const userId = await putUser(store, { record: { identities: [identity], mapped } });
      const record = async (): Promise<UserRecord> => {
        const found = await parsed<UserRecord>(KEYS.user(userId));
        if (!found) throw new Error('The user is gone.');
        return found;
      };
      return {
        userId,
        record,
        async session(token, ago, more = {}) {
          const createdAt = clock.now() - ago * MINUTE_MS;
          const { sessionId } = await signedIn(store, userId, { method: 'provider', identity, createdAt, ...more });
          if (token !== null) await refreshTokens.keep(sessionId, new Secret(token));
          await until(() => core.fleet.memory.session(sessionId) !== undefined);
          return sessionId;
        },
        async madeKey() {
          const account = KEYS.account(ACCOUNT_ID);
          const key = KEYS.apiKey(ACCOUNT_ID, `key-${userId}`);
          const acme = { name: 'acme', entitlement: 'enterprise', disabled: false, createdAt: 1 } as const;
          const record = { name: '', hash: `hash-${userId}`, createdAt: 1, createdBy: `user:${userId}` };
          const found = (await store.get(account)) !== undefined;
          const write = [...(found ? [] : [rawPut(account, acme)]), rawPut(key, record)];
          await store.commit({ expect: [expectAbsent(key)], write });
          const { memory } = core.fleet;
          await until(() => [...memory.keysMadeBy(userId)].length > 0);
          return async () => (await store.get(key)) !== undefined;
        },
        async madeToken() {
          const origin = {
            actor: `user:${userId}`,
            requestId: 'x',
            at: clock.now(),
            deadline: clock.monotonic() + 10_000,
          };
          await domain.accessTokens.create(origin, userId, { name: '', accountId: ACCOUNT_ID, role: 'viewer' });
        },
        tokens: async () => (await domain.accessTokens.list(userId)).length,
        isRefused: async () => (await record()).providerRefusedAt !== undefined,
        hasAnswer: () =>
          rewrite({ store }, KEYS.user(userId), (user) => ({ ...user, mapped: { ...mapped, at: mapped.at + 1 } })),
      };
    },
    round: async () => await round(new AbortController().signal),
    isThere,
    rewriteRefresh: (sessionId, change) => rewrite({ store }, KEYS.refresh(sessionId), change),
    claimIsOver: (sessionId) =>
      rewrite({ store }, KEYS.refresh(sessionId), ({ claimedUntil: _over, ...record }) => record),
    [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
  };
  const round = createRenewRoles({
    ...core,
    ...domain,
    log,
    refreshTokens,
    providerUsers,
    groupsClaim: 'groups',
    groups: () => made.rules,
    client: {
      async renew(token, identity) {
        asked.push(token.reveal());
        await made.before();
        if (identity.issuer !== ISSUER) throw new ProviderFault('refused', undefined);
        const claims = provider[token.reveal()]?.() ?? { groups: ['owners'] };
        return { ...identity, sid: undefined, claims, authenticatedAt: undefined, methods: [], refreshToken: token };
      },
    },
  });
  return made;
}
