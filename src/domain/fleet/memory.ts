import type { Entry } from '../../store/port.ts';
import type { WatchCacheSink } from '../../store/watch-cache/watch-cache.ts';
import type { Versioned } from '../records/codec.ts';
import type { DayRecord } from '../records/day-records.ts';
import { KEYS } from '../records/keys.ts';
import type { ActiveKeyRecord } from '../records/replica-records.ts';
import { AccountMemory, recordRefOf, type RecordRef } from './account-memory.ts';
import { AppTable } from './app-table.ts';
import type { AccountReader, ApiKeyEntry, FleetReader, FoundApp } from './reader.ts';
import { SingletonRecords } from './singleton-records.ts';

/**
 * Called after a batch was applied, or memory was filled anew, for each app and account that changed. Without `appId`
 * the account changed, its configuration or a key. Last contacts and counters are left out: they change all the time,
 * and change nothing that a daemon is told.
 */
export type FleetListener = (accountId: string, appId: string | undefined) => void;

export interface FleetMemoryOptions {
  /** A record that cannot be read is left out, so that requests which depend on it are refused; a person must look. */
  readonly onUnreadable: (error: unknown) => void;
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
  readonly #listeners = new Set<FleetListener>();
  /**
   * Keys of the range that this program does not know or cannot read, by revision: the consistency check counts them.
   */
  readonly #unread = new Map<string, number>();
  #unreadableCount = 0;
  #whole = false;
  /** By account, the apps of which the listeners are not told yet; `undefined` among them is the account itself. */
  #touched = new Map<string, Set<string | undefined>>();

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
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // Requests read the members below.

  readonly atOnce = true;

  account(accountId: string): AccountMemory | undefined {
    const account = this.#accounts.get(accountId);
    return account && account.revision > 0 ? account : undefined;
  }

  *accounts(): Iterable<AccountMemory> {
    for (const account of this.#accounts.values()) if (account.revision > 0) yield account;
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

  accountOfKey(keyId: string): { account: AccountReader; key: ApiKeyEntry } | undefined {
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

  day(): Versioned<DayRecord> | undefined {
    return this.#singletons.day;
  }

  activeKey(): Versioned<ActiveKeyRecord> | undefined {
    return this.#singletons.activeKey;
  }

  #found(row: number): FoundApp | undefined {
    if (row < 0) return undefined;
    const account = this.#numbered[this.#apps.accountOf(row)];
    if (!account || account.revision === 0) return undefined;
    return { account, app: this.#apps.recent(row, account.id) };
  }

  // The watch cache calls the members below.

  put(entry: Entry): void {
    if (this.#singletons.knows(entry.key)) return this.#putSingleton(entry);
    const ref = recordRefOf(entry.key);
    if (this.#unread.size > 0) this.#unread.delete(entry.key);
    if (!ref) {
      this.#unread.set(entry.key, entry.revision);
      return;
    }
    try {
      this.#store(ref, entry);
    } catch (error) {
      this.#drop(ref);
      this.#unread.set(entry.key, entry.revision);
      this.#unreadableCount += 1;
      this.#options.onUnreadable(error);
    }
    this.#touch(ref);
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
    const ref = recordRefOf(key);
    if (!ref) return;
    this.#drop(ref);
    this.#touch(ref);
  }

  #touch({ accountId, kind, id }: RecordRef): void {
    if (kind === 'seen' || kind === 'tally') return;
    const touched = this.#touched.get(accountId);
    // While memory is filled, the account is noted instead of each app: its change wakes every listener as well.
    const appId = kind === 'app' && this.#whole ? id : undefined;
    if (touched) touched.add(appId);
    else this.#touched.set(accountId, new Set([appId]));
  }

  /**
   * The listeners are told once memory is whole again: if they were told now, all of them would read the store at once.
   */
  clear(): void {
    for (const accountId of this.#accounts.keys()) this.#touched.set(accountId, new Set([undefined]));
    this.#accounts.clear();
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
    this.#tell();
  }

  #tell(): void {
    const touched = this.#touched;
    this.#touched = new Map();
    for (const [accountId, apps] of touched) {
      for (const appId of apps) for (const listener of this.#listeners) listener(accountId, appId);
    }
  }

  revisionOf(key: string): number | undefined {
    const unread = this.#unread.size > 0 ? this.#unread.get(key) : undefined;
    if (unread !== undefined) return unread;
    if (this.#singletons.knows(key)) return this.#singletons.revisionOf(key);
    const ref = recordRefOf(key);
    const account = ref && this.#accounts.get(ref.accountId);
    if (!account) return undefined;
    return account.revisionOf(ref) || undefined;
  }

  *held(prefix: string): Iterable<readonly [key: string, revision: number]> {
    for (const held of this.#unread) if (held[0].startsWith(prefix)) yield held;
    for (const held of this.#singletons.held()) if (held[0].startsWith(prefix)) yield held;
    if (!prefix.startsWith(KEYS.accounts)) return;
    const ids = prefix.slice(KEYS.accounts.length);
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
    account.put(ref, entry);
    if (ref.kind === 'key') this.#accountIdOfKey.set(ref.id, account.id);
  }

  #drop(ref: RecordRef): void {
    const account = this.#accounts.get(ref.accountId);
    if (ref.kind === 'key') this.#accountIdOfKey.delete(ref.id);
    account?.drop(ref);
  }
}
