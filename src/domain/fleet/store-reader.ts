import type { Numbers } from '../../packed/number-map.ts';
import { type Entry, type Key, type made, PAGE_ENTRIES_MAX, type Store, StoreUnavailable } from '../../store/port.ts';
import { absent, parseRecord, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { type AccountRecord, type CountersRecord, NO_COUNTERS } from '../records/account-records.ts';
import type { OtelRecord } from '../records/otel-records.ts';
import { type MembersRecord, NO_MEMBERS, NO_OPERATORS } from '../records/user-records.ts';
import { lastSeenIn } from './last-seen-codec.ts';
import type { FleetMemory } from './memory.ts';
import {
  appEntry,
  type AccountReader,
  type ApiKeyEntry,
  type AppEntry,
  type FleetReader,
  type FoundApp,
} from './reader.ts';

/** A credential that has changed its app so often during one read is not waited for any longer. */
const REBOUND_MAX = 10;

/**
 * The fleet read from the store itself, key by key, while memory is behind. Memory still tells which account an app
 * belongs to, since that never changes.
 * @param whole waits for memory to be as new as the store (`Fleet.whole`)
 */
export function directReader(store: Store, memory: FleetMemory, whole: () => Promise<FleetMemory>): FleetReader {
  const account = async (accountId: string): Promise<AccountReader | undefined> => {
    const entry = await store.get(KEYS.account(accountId));
    return entry && new DirectAccount(store, accountId, parseRecord(KEYS.account, entry));
  };
  const app = async (accountId: string, appId: string): Promise<FoundApp | undefined> => {
    const owner = await account(accountId);
    const found = await owner?.app(appId);
    return owner && found && { account: owner, app: found };
  };

  return {
    atOnce: false,
    now: () => memory.now(),
    account,

    async accountOfKey(keyId) {
      const locator = await store.get(KEYS.keyLocator(keyId));
      if (!locator) return undefined;
      const owner = await account(parseRecord(KEYS.keyLocator, locator).record.accountId);
      const key = await owner?.apiKey(keyId);
      return owner && key && { account: owner, key };
    },

    async appOfCredential(hash) {
      const key = KEYS.credential(hash);
      let entry = await store.get(key);
      for (let attempt = 1; entry; attempt += 1) {
        const bound = parseRecord(KEYS.credential, entry).record;
        const found = await app(bound.accountId, bound.appId);
        if (found?.app.record.credential === hash) return found;
        // Another app may have taken the credential over between the two reads: it is refused only where the binding is
        // still the one that led here.
        const again = await store.get(key);
        if (again?.revision === entry.revision) return undefined;
        if (attempt === REBOUND_MAX)
          throw new StoreUnavailable('timeout', 'The credential changes its app all the time.');
        entry = again;
      }
      return undefined;
    },

    async appById(appId) {
      const accountId = memory.appById(appId)?.account.id;
      if (accountId !== undefined) return await app(accountId, appId);
      // The store has no index of apps by id, and an app that memory does not know may be newer than memory.
      return (await whole()).appById(appId);
    },

    async user(userId) {
      const entry = await store.get(KEYS.user(userId));
      return entry && { id: userId, ...parseRecord(KEYS.user, entry) };
    },

    // The store has no index for the next six: memory answers, once it is as new as the store.
    users: async () => (await whole()).users(),
    userCount: async (invitedBy) => (await whole()).userCount(invitedBy),
    sessionsOf: async (userId) => (await whole()).sessionsOf(userId),
    accessTokensOf: async (userId) => (await whole()).accessTokensOf(userId),
    accountsOfMember: async (userId) => (await whole()).accountsOfMember(userId),
    keysMadeBy: async (userId) => (await whole()).keysMadeBy(userId),

    async session(sessionId) {
      const entry = await store.get(KEYS.session(sessionId));
      return entry && { id: sessionId, ...parseRecord(KEYS.session, entry) };
    },

    async accessToken(tokenId) {
      const entry = await store.get(KEYS.accessToken(tokenId));
      return entry && { id: tokenId, ...parseRecord(KEYS.accessToken, entry) };
    },

    async operators() {
      const entry = await store.get(KEYS.operators());
      return entry ? parseRecord(KEYS.operators, entry) : absent(KEYS.operators(), NO_OPERATORS);
    },

    async newcomer() {
      const entry = await store.get(KEYS.newcomer());
      return entry && parseRecord(KEYS.newcomer, entry);
    },

    async day() {
      const entry = await store.get(KEYS.day());
      return entry && parseRecord(KEYS.day, entry);
    },

    async activeKey() {
      const entry = await store.get(KEYS.activeKey());
      return entry && parseRecord(KEYS.activeKey, entry);
    },
  };
}

class DirectAccount implements AccountReader {
  declare readonly [made]: 'snapshot';
  readonly id: string;
  readonly key: Key;
  readonly record: AccountRecord;
  readonly revision: number;
  readonly appsVersion = undefined;
  readonly #store: Store;

  constructor(store: Store, id: string, { key, record, revision }: Versioned<AccountRecord>) {
    this.#store = store;
    this.id = id;
    this.key = key;
    this.record = record;
    this.revision = revision;
  }

  async app(appId: string): Promise<AppEntry | undefined> {
    const entry = await this.#store.get(KEYS.app(this.id, appId));
    return entry && appEntry(appId, this.id, parseRecord(KEYS.app, entry));
  }

  async apps(): Promise<readonly AppEntry[]> {
    const prefix = KEYS.app.under(this.id);
    return (await this.#all(prefix)).map((entry) =>
      appEntry(entry.key.slice(prefix.length), this.id, parseRecord(KEYS.app, entry)),
    );
  }

  async apiKey(keyId: string): Promise<ApiKeyEntry | undefined> {
    const entry = await this.#store.get(KEYS.apiKey(this.id, keyId));
    return entry && { id: keyId, ...parseRecord(KEYS.apiKey, entry) };
  }

  async apiKeys(): Promise<readonly ApiKeyEntry[]> {
    const prefix = KEYS.apiKey.under(this.id);
    return (await this.#all(prefix)).map((entry) => ({
      id: entry.key.slice(prefix.length),
      ...parseRecord(KEYS.apiKey, entry),
    }));
  }

  async otel(): Promise<Versioned<OtelRecord> | undefined> {
    const entry = await this.#store.get(KEYS.otel(this.id));
    return entry && parseRecord(KEYS.otel, entry);
  }

  async counters(): Promise<Versioned<CountersRecord>> {
    const key = KEYS.counters(this.id);
    const entry = await this.#store.get(key);
    return entry ? parseRecord(KEYS.counters, entry) : absent(key, NO_COUNTERS);
  }

  async members(): Promise<Versioned<MembersRecord>> {
    const key = KEYS.members(this.id);
    const entry = await this.#store.get(key);
    return entry ? parseRecord(KEYS.members, entry) : absent(key, NO_MEMBERS);
  }

  async lastSeen(): Promise<Versioned<Numbers>> {
    const key = KEYS.lastSeen(this.id);
    return lastSeenIn(key, await this.#store.get(key));
  }

  /**
   * At most `LIMITS.appsPerAccountMax` apps or `LIMITS.apiKeysPerAccountMax` keys: a page, or two while one is gone.
   */
  async #all(prefix: string): Promise<readonly Entry[]> {
    const first = await this.#store.list({ prefix, limit: PAGE_ENTRIES_MAX });
    if (first.next === undefined) return first.entries;
    const rest = await this.#store.list({ prefix, limit: PAGE_ENTRIES_MAX, after: first.next });
    return [...first.entries, ...rest.entries];
  }
}
