import type { Numbers } from '../../packed/number-map.ts';
import type { Key, Snapshot, made } from '../../store/port.ts';
import type { Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { AccountRecord, CountersRecord } from '../records/account-records.ts';
import type { OtelRecord } from '../records/otel-records.ts';
import type { ActiveKeyRecord } from '../records/replica-records.ts';
import type { MembersRecord, NewcomerRecord, OperatorsRecord } from '../records/user-records.ts';
import type {
  AccessTokenEntry,
  AccountReader,
  ApiKeyEntry,
  AppEntry,
  FleetReader,
  FoundApp,
  FoundKey,
  MaybePromise,
  SessionEntry,
  UserEntry,
} from './reader.ts';
import type { DayRecord } from '../records/metering-records.ts';

/** Returns what the first call for a key has read. */
type Once = <T>(key: string, read: () => MaybePromise<T>) => Promise<T>;

/** The snapshot that was answered for its key before, or this one; undefined where the key was answered as absent. */
const firstOf = <T extends Snapshot>(once: Once, read: T): Promise<T | undefined> =>
  once<T | undefined>(read.key, () => read);

async function firstsOf<T extends Snapshot>(once: Once, reads: Iterable<T>): Promise<readonly T[]> {
  const answers = await Promise.all(Array.from(reads, (read) => firstOf(once, read)));
  return answers.filter((answer) => answer !== undefined);
}

/**
 * The reader of one attempt of a plan. It answers a key with the snapshot that it answered first, however memory moves
 * on while the plan waits: what a plan has judged is what it writes upon, and what its commit expects.
 */
export class PlanReader implements FleetReader {
  readonly atOnce = false;
  readonly #reader: FleetReader;
  readonly #now: number;
  readonly #answers = new Map<string, Promise<unknown>>();

  constructor(reader: FleetReader) {
    this.#reader = reader;
    this.#now = reader.now();
  }

  now(): number {
    return this.#now;
  }

  account(accountId: string): Promise<AccountReader | undefined> {
    return this.#once(KEYS.account(accountId), async () => {
      const account = await this.#reader.account(accountId);
      return account && new PlanAccount(account, this.#once);
    });
  }

  accountOfKey(keyId: string): Promise<FoundKey | undefined> {
    return this.#once(KEYS.keyLocator(keyId), async () => {
      const found = await this.#reader.accountOfKey(keyId);
      const account = found && (await this.#accountOnce(found.account));
      const key = found && (await firstOf(this.#once, found.key));
      return account && key && { account, key };
    });
  }

  appOfCredential(hash: string): Promise<FoundApp | undefined> {
    return this.#once(KEYS.credential(hash), async () => this.#foundOnce(await this.#reader.appOfCredential(hash)));
  }

  appById(appId: string): Promise<FoundApp | undefined> {
    return this.#once(`app ${appId}`, async () => this.#foundOnce(await this.#reader.appById(appId)));
  }

  user(userId: string): Promise<UserEntry | undefined> {
    return this.#once(KEYS.user(userId), () => this.#reader.user(userId));
  }

  async users(): Promise<readonly UserEntry[]> {
    return await firstsOf(this.#once, await this.#reader.users());
  }

  async userCount(invitedBy?: string): Promise<number> {
    return await this.#reader.userCount(invitedBy);
  }

  session(sessionId: string): Promise<SessionEntry | undefined> {
    return this.#once(KEYS.session(sessionId), () => this.#reader.session(sessionId));
  }

  async sessionsOf(userId: string): Promise<readonly SessionEntry[]> {
    return await firstsOf(this.#once, await this.#reader.sessionsOf(userId));
  }

  accessToken(tokenId: string): Promise<AccessTokenEntry | undefined> {
    return this.#once(KEYS.accessToken(tokenId), () => this.#reader.accessToken(tokenId));
  }

  async accessTokensOf(userId: string): Promise<readonly AccessTokenEntry[]> {
    return await firstsOf(this.#once, await this.#reader.accessTokensOf(userId));
  }

  async accountsOfMember(userId: string): Promise<readonly AccountReader[]> {
    const accounts: AccountReader[] = [];
    for (const one of await this.#reader.accountsOfMember(userId)) {
      const account = await this.#accountOnce(one);
      if (account) accounts.push(account);
    }
    return accounts;
  }

  async keysMadeBy(userId: string): Promise<readonly FoundKey[]> {
    const keys: FoundKey[] = [];
    const found = Array.from(await this.#reader.keysMadeBy(userId));
    for (const one of found) {
      const account = await this.#accountOnce(one.account);
      const key = await firstOf(this.#once, one.key);
      if (account && key) keys.push({ account, key });
    }
    return keys;
  }

  operators(): Promise<Versioned<OperatorsRecord>> {
    return this.#once(KEYS.operators(), () => this.#reader.operators());
  }

  newcomer(): Promise<Versioned<NewcomerRecord> | undefined> {
    return this.#once(KEYS.newcomer(), () => this.#reader.newcomer());
  }

  day(): Promise<Versioned<DayRecord> | undefined> {
    return this.#once(KEYS.day(), () => this.#reader.day());
  }

  activeKey(): Promise<Versioned<ActiveKeyRecord> | undefined> {
    return this.#once(KEYS.activeKey(), () => this.#reader.activeKey());
  }

  readonly #once: Once = <T>(key: string, read: () => MaybePromise<T>): Promise<T> => {
    const known = this.#answers.get(key);
    // A key is asked for one kind of answer alone.
    if (known) return known as Promise<T>;
    const answer = Promise.resolve(read());
    this.#answers.set(key, answer);
    return answer;
  };

  #accountOnce(account: AccountReader): Promise<AccountReader | undefined> {
    return firstOf<AccountReader>(this.#once, new PlanAccount(account, this.#once));
  }

  async #foundOnce(found: FoundApp | undefined): Promise<FoundApp | undefined> {
    const account = found && (await this.#accountOnce(found.account));
    const app = found && (await firstOf(this.#once, found.app));
    return account && app && { account, app };
  }
}

/** An account within a plan. */
class PlanAccount implements AccountReader {
  declare readonly [made]: 'snapshot';
  readonly id: string;
  readonly key: Key;
  readonly record: AccountRecord;
  readonly revision: number;
  /** A plan keeps no text of an account that it could be the version of. */
  readonly appsVersion = undefined;
  readonly #account: AccountReader;
  readonly #once: Once;

  constructor(account: AccountReader, once: Once) {
    this.id = account.id;
    this.key = account.key;
    this.record = account.record;
    this.revision = account.revision;
    this.#account = account;
    this.#once = once;
  }

  app(appId: string): Promise<AppEntry | undefined> {
    return this.#once(KEYS.app(this.id, appId), () => this.#account.app(appId));
  }

  async apps(): Promise<readonly AppEntry[]> {
    return await firstsOf(this.#once, await this.#account.apps());
  }

  apiKey(keyId: string): Promise<ApiKeyEntry | undefined> {
    return this.#once(KEYS.apiKey(this.id, keyId), () => this.#account.apiKey(keyId));
  }

  async apiKeys(): Promise<readonly ApiKeyEntry[]> {
    return await firstsOf(this.#once, await this.#account.apiKeys());
  }

  otel(): Promise<Versioned<OtelRecord> | undefined> {
    return this.#once(KEYS.otel(this.id), () => this.#account.otel());
  }

  counters(): Promise<Versioned<CountersRecord>> {
    return this.#once(KEYS.counters(this.id), () => this.#account.counters());
  }

  lastSeen(): Promise<Versioned<Numbers>> {
    return this.#once(KEYS.lastSeen(this.id), () => this.#account.lastSeen());
  }

  members(): Promise<Versioned<MembersRecord>> {
    return this.#once(KEYS.members(this.id), () => this.#account.members());
  }
}
