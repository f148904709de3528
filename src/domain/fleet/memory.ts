import type { Entry } from '../../store/port.ts';
import type { WatchCacheSink } from '../../store/watch-cache/watch-cache.ts';
import { systemClock, type Clock } from '../../time/clock.ts';
import type { Versioned } from '../records/codec.ts';
import { isMadeBy } from '../key-validity/key-expiry.ts';
import { KEYS } from '../records/keys.ts';
import type { ActiveKeyRecord } from '../records/replica-records.ts';
import type { NewcomerRecord, OperatorsRecord } from '../records/user-records.ts';
import { AccountMemory, type AccountView } from './account-memory.ts';
import { AppTable } from './app-table.ts';
import { ChangeNotices, type FleetListener, type RecordListener } from './change-notices.ts';
import type { AccessTokenEntry, FleetReader, FoundApp, FoundKey, SessionEntry, UserEntry } from './reader.ts';
import { recordRefOf, type RecordRef } from './record-ref.ts';
import { SingletonRecords } from './singleton-records.ts';
import { UserMemory, userRefOf, type UserRef } from './user-memory.ts';
import type { DayRecord } from '../records/metering-records.ts';

interface FleetMemoryOptions {
  /** A record that cannot be read is left out, so that requests which depend on it are refused; a person must look. */
  readonly onUnreadable: (error: unknown) => void;
  readonly clock?: Pick<Clock, 'now'>;
}

/** The records of the cached range, indexed; those of apps are packed. Every request reads here. */
export class FleetMemory implements WatchCacheSink, FleetReader {
  readonly #options: FleetMemoryOptions;
  readonly #accounts = new Map<string, AccountMemory>();
  readonly #singletons = new SingletonRecords();
  readonly #accountIdOfKey = new Map<string, string>();
  #apps = new AppTable();
  /** The accounts by their number. */
  #numbered: AccountMemory[] = [];
  readonly #notices = new ChangeNotices();
  readonly #users = new UserMemory();
  /**
   * Keys of the range that this program does not know or cannot read, by revision: the consistency check counts them.
   */
  readonly #unread = new Map<string, number>();
  #unreadableCount = 0;
  #whole = false;

  constructor(options: FleetMemoryOptions) {
    this.#options = options;
  }

  /** False until memory is filled, and while it is filled anew: a record that is not found then may be in the store. */
  get whole(): boolean {
    return this.#whole;
  }

  get accountCount(): number {
    return this.#accounts.size;
  }

  get appCount(): number {
    return this.#apps.size;
  }

  onChange(listener: FleetListener): () => void {
    return this.#notices.onChange(listener);
  }

  /** As `onChange`, for every kind of record. */
  onRecordChange(listener: RecordListener): () => void {
    return this.#notices.onRecordChange(listener);
  }

  readonly atOnce = true;

  now(): number {
    return (this.#options.clock ?? systemClock).now();
  }

  account(accountId: string): AccountView | undefined {
    return this.#accounts.get(accountId)?.view;
  }

  *accounts(): Iterable<AccountView> {
    for (const { view } of this.#accounts.values()) if (view) yield view;
  }

  /** Accounts of which a record of these kinds cannot be read: memory does not hold all of them. */
  unreadableAccounts(kinds: readonly RecordRef['kind'][] = ['account', 'app']): ReadonlySet<string> {
    const accounts = new Set<string>();
    for (const key of this.#unread.keys()) {
      const ref = recordRefOf(key);
      if (ref && kinds.includes(ref.kind)) accounts.add(ref.accountId);
    }
    return accounts;
  }

  /** How many records could not be read so far: memory holds less than it did where this has grown. */
  get unreadableCount(): number {
    return this.#unreadableCount;
  }

  accountOfKey(keyId: string): FoundKey | undefined {
    const account = this.account(this.#accountIdOfKey.get(keyId) ?? '');
    const key = account?.apiKey(keyId);
    return account && key && { account, key };
  }

  appOfCredential(hash: string): FoundApp | undefined {
    return this.#found(this.#apps.findCredential(hash));
  }

  appById(appId: string): FoundApp | undefined {
    return this.#found(this.#apps.find(appId));
  }

  user(userId: string): UserEntry | undefined {
    return this.#users.user(userId);
  }

  userCount(invitedBy?: string): number {
    return this.#users.userCount(invitedBy);
  }

  users(): Iterable<UserEntry> {
    return this.#users.users();
  }

  session(sessionId: string): SessionEntry | undefined {
    return this.#users.session(sessionId);
  }

  sessions(): Iterable<SessionEntry> {
    return this.#users.sessions();
  }

  sessionsOf(userId: string): readonly SessionEntry[] {
    return this.#users.sessionsOf(userId);
  }

  accessToken(tokenId: string): AccessTokenEntry | undefined {
    return this.#users.accessToken(tokenId);
  }

  accessTokens(): Iterable<AccessTokenEntry> {
    return this.#users.accessTokens();
  }

  accessTokensOf(userId: string): readonly AccessTokenEntry[] {
    return this.#users.accessTokensOf(userId);
  }

  operators(): Versioned<OperatorsRecord> {
    return this.#users.operators();
  }

  /** The accounts that have the user among their members. */
  *accountsOfMember(userId: string): Iterable<AccountView> {
    for (const accountId of this.#users.accountsOf(userId)) {
      const account = this.account(accountId);
      if (account) yield account;
    }
  }

  /** There is no index: it is asked for when somebody goes, and 20,000 keys are looked through in some milliseconds. */
  *keysMadeBy(userId: string): Iterable<FoundKey> {
    for (const account of this.accounts()) {
      for (const key of account.apiKeys()) if (isMadeBy(key.record, userId, this.now())) yield { account, key };
    }
  }

  newcomer(): Versioned<NewcomerRecord> | undefined {
    return this.#singletons.newcomer;
  }

  day(): Versioned<DayRecord> | undefined {
    return this.#singletons.day;
  }

  activeKey(): Versioned<ActiveKeyRecord> | undefined {
    return this.#singletons.activeKey;
  }

  #found(row: number): FoundApp | undefined {
    if (row < 0) return undefined;
    const account = this.#numbered[this.#apps.accountOf(row)]?.view;
    return account && { account, app: this.#apps.recent(row, account.id) };
  }

  // The watch cache calls the members below.

  put(entry: Entry): void {
    if (this.#singletons.knows(entry.key)) return this.#putSingleton(entry);
    const ref = refOf(entry.key);
    if (this.#unread.size > 0) this.#unread.delete(entry.key);
    if (!ref) {
      this.#unread.set(entry.key, entry.revision);
      return;
    }
    try {
      if ('accountId' in ref) this.#store(ref, entry);
      else this.#users.put(ref, entry);
    } catch (error) {
      this.#drop(ref);
      this.#unread.set(entry.key, entry.revision);
      this.#unreadableCount += 1;
      this.#options.onUnreadable(error);
    }
    this.#notices.changed(ref, this.#whole);
  }

  #putSingleton(entry: Entry): void {
    this.#unread.delete(entry.key);
    try {
      this.#singletons.put(entry);
    } catch (error) {
      this.#singletons.drop(entry.key);
      this.#unread.set(entry.key, entry.revision);
      this.#options.onUnreadable(error);
    }
  }

  remove(key: string): void {
    this.#unread.delete(key);
    if (this.#singletons.knows(key)) return this.#singletons.drop(key);
    const ref = refOf(key);
    if (!ref) return;
    this.#drop(ref);
    this.#notices.changed(ref, this.#whole);
  }

  /**
   * The listeners are told once memory is whole again: if they were told now, all of them would read the store at once.
   */
  clear(): void {
    this.#notices.dropped(this.#accounts.keys());
    this.#accounts.clear();
    this.#users.clear();
    this.#singletons.clear();
    this.#accountIdOfKey.clear();
    // A request that still holds an account reads on in the table to which this account belongs.
    this.#apps = new AppTable();
    this.#numbered = [];
    this.#unread.clear();
    this.#whole = false;
  }

  settled(): void {
    this.#whole = true;
    this.#notices.tell();
  }

  revisionOf(key: string): number | undefined {
    const unread = this.#unread.size > 0 ? this.#unread.get(key) : undefined;
    if (unread !== undefined) return unread;
    if (this.#singletons.knows(key)) return this.#singletons.revisionOf(key);
    const ref = refOf(key);
    if (!ref) return undefined;
    if (!('accountId' in ref)) return this.#users.revisionOf(ref) || undefined;
    return this.#accounts.get(ref.accountId)?.revisionOf(ref) || undefined;
  }

  *held(prefix: string): Iterable<readonly [key: string, revision: number]> {
    const ofUsers = prefix.startsWith(KEYS.account.under()) ? [] : this.#users.held();
    for (const some of [this.#unread, this.#singletons.held(), ofUsers]) {
      for (const held of some) if (held[0].startsWith(prefix)) yield held;
    }
    if (!prefix.startsWith(KEYS.account.under())) return;
    const ids = prefix.slice(KEYS.account.under().length);
    for (const account of this.#accounts.values()) {
      if (account.id.startsWith(ids)) yield* account.held();
    }
  }

  #accountOf(accountId: string): AccountMemory {
    let account = this.#accounts.get(accountId);
    if (account) return account;
    account = new AccountMemory(accountId, this.#numbered.length, this.#apps);
    this.#numbered.push(account);
    this.#accounts.set(accountId, account);
    return account;
  }

  #store(ref: RecordRef, entry: Entry): void {
    const account = this.#accountOf(ref.accountId);
    const before = ref.kind === 'members' ? memberIds(account) : [];
    account.put(ref, entry);
    if (ref.kind === 'apiKey') this.#accountIdOfKey.set(ref.id, account.id);
    else if (ref.kind === 'members') this.#users.membersChanged(account.id, before, memberIds(account));
  }

  #drop(ref: RecordRef | UserRef): void {
    if (!('accountId' in ref)) return this.#users.drop(ref);
    const account = this.#accounts.get(ref.accountId);
    if (ref.kind === 'apiKey') this.#accountIdOfKey.delete(ref.id);
    else if (ref.kind === 'members' && account) this.#users.membersChanged(account.id, memberIds(account), []);
    account?.drop(ref);
  }
}

/** Returns what a key of the range stands for; undefined for one that this program does not know. */
const refOf = (key: string): RecordRef | UserRef | undefined => recordRefOf(key) ?? userRefOf(key);

const memberIds = (account: AccountMemory): readonly string[] =>
  (account.members?.record.members ?? []).map(({ userId }) => userId);
