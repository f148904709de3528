import type { Numbers } from '../../packed/number-map.ts';
import { PAGE_ENTRIES_MAX, type Entry, type Store } from '../../store/port.ts';
import { parseRecord, type Versioned } from '../records/codec.ts';
import { daySchema } from '../records/day-records.ts';
import { KEYS } from '../records/keys.ts';
import {
  accountSchema,
  apiKeySchema,
  appSchema,
  countersSchema,
  credentialSchema,
  keyLocatorSchema,
  lastSeenSchema,
  NO_COUNTERS,
  otelSchema,
  type AccountRecord,
  type CountersRecord,
  type OtelRecord,
} from '../records/records.ts';
import { activeKeySchema } from '../records/replica-records.ts';
import {
  membersSchema,
  NO_MEMBERS,
  NO_OPERATORS,
  operatorsSchema,
  sessionSchema,
  userSchema,
  type MembersRecord,
} from '../records/user-records.ts';
import { unpackLastSeen } from './last-seen-codec.ts';
import type { FleetMemory } from './memory.ts';
import {
  appEntry,
  type AccountReader,
  type ApiKeyEntry,
  type AppEntry,
  type FleetReader,
  type FoundApp,
} from './reader.ts';

/**
 * The fleet read from the store itself, key by key, while memory is behind. Memory still tells which account an app
 * belongs to, since that never changes.
 * @param whole waits for memory to be as new as the store (`Fleet.whole`)
 */
export function directReader(store: Store, memory: FleetMemory, whole: () => Promise<FleetMemory>): FleetReader {
  const account = async (accountId: string): Promise<AccountReader | undefined> => {
    const entry = await store.get(KEYS.account(accountId));
    return entry && new DirectAccount(store, accountId, parseRecord(accountSchema, entry));
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
      const owner = await account(parseRecord(keyLocatorSchema, locator).record.accountId);
      const key = await owner?.apiKey(keyId);
      return owner && key && { account: owner, key };
    },

    async appOfCredential(hash) {
      const entry = await store.get(KEYS.credential(hash));
      if (!entry) return undefined;
      const bound = parseRecord(credentialSchema, entry).record;
      const found = await app(bound.accountId, bound.appId);
      return found?.app.record.credential === hash ? found : undefined;
    },

    async appById(appId) {
      const accountId = memory.appById(appId)?.account.id;
      if (accountId !== undefined) return await app(accountId, appId);
      // The store has no index of apps by id, and an app that memory does not know may be newer than memory.
      return (await whole()).appById(appId);
    },

    async user(userId) {
      const entry = await store.get(KEYS.user(userId));
      return entry && { id: userId, ...parseRecord(userSchema, entry) };
    },

    async session(sessionId) {
      const entry = await store.get(KEYS.session(sessionId));
      return entry && { id: sessionId, ...parseRecord(sessionSchema, entry) };
    },

    async operators() {
      const entry = await store.get(KEYS.operators);
      return entry ? parseRecord(operatorsSchema, entry) : NO_OPERATORS;
    },

    async day() {
      const entry = await store.get(KEYS.day);
      return entry && parseRecord(daySchema, entry);
    },

    async activeKey() {
      const entry = await store.get(KEYS.activeKey);
      return entry && parseRecord(activeKeySchema, entry);
    },
  };
}

class DirectAccount implements AccountReader {
  readonly id: string;
  readonly record: AccountRecord;
  readonly revision: number;
  readonly appsVersion = undefined;
  readonly #store: Store;

  constructor(store: Store, id: string, account: Versioned<AccountRecord>) {
    this.#store = store;
    this.id = id;
    this.record = account.record;
    this.revision = account.revision;
  }

  async app(appId: string): Promise<AppEntry | undefined> {
    const entry = await this.#store.get(KEYS.app(this.id, appId));
    return entry && appEntry(appId, this.id, parseRecord(appSchema, entry));
  }

  async apps(): Promise<readonly AppEntry[]> {
    const prefix = KEYS.apps(this.id);
    return (await this.#all(prefix)).map((entry) =>
      appEntry(entry.key.slice(prefix.length), this.id, parseRecord(appSchema, entry)),
    );
  }

  async apiKey(keyId: string): Promise<ApiKeyEntry | undefined> {
    const entry = await this.#store.get(KEYS.apiKey(this.id, keyId));
    return entry && { id: keyId, ...parseRecord(apiKeySchema, entry) };
  }

  async apiKeys(): Promise<readonly ApiKeyEntry[]> {
    const prefix = KEYS.apiKeys(this.id);
    return (await this.#all(prefix)).map((entry) => ({
      id: entry.key.slice(prefix.length),
      ...parseRecord(apiKeySchema, entry),
    }));
  }

  async otel(): Promise<Versioned<OtelRecord> | undefined> {
    const entry = await this.#store.get(KEYS.otel(this.id));
    return entry && parseRecord(otelSchema, entry);
  }

  async counters(): Promise<Versioned<CountersRecord>> {
    const entry = await this.#store.get(KEYS.counters(this.id));
    return entry ? parseRecord(countersSchema, entry) : NO_COUNTERS;
  }

  async members(): Promise<Versioned<MembersRecord>> {
    const entry = await this.#store.get(KEYS.members(this.id));
    return entry ? parseRecord(membersSchema, entry) : NO_MEMBERS;
  }

  async lastSeen(): Promise<Numbers> {
    const entry = await this.#store.get(KEYS.lastSeen(this.id));
    return entry ? unpackLastSeen(parseRecord(lastSeenSchema, entry).record.packed) : new Map<number, number>();
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
