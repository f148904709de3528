import type { Entry } from '../../store/port.ts';
import type { WatchCacheSink } from '../../store/watch-cache/watch-cache.ts';
import type { Versioned } from '../records/codec.ts';
import type { DayRecord } from '../records/day-records.ts';
import { KEYS } from '../records/keys.ts';
import type { ActiveKeyRecord } from '../records/replica-records.ts';
import { AccountMemory, placeOf, type Place } from './account-memory.ts';
import { AppTable } from './app-table.ts';
import type { AccountReader, ApiKeyEntry, FleetReader, FoundApp } from './reader.ts';
import { SingletonRecords } from './singleton-records.ts';

/**
 * Called after a batch has been applied, or memory been filled anew, with what it touched. No `appId`: the account, its configuration or a key.
 * Not for last contacts and counts, which change all the time and change nothing that a daemon is told.
 */
export type FleetListener = (accountId: string, appId: string | undefined) => void;

export interface FleetMemoryOptions {
  /** A record that cannot be read is left out, so that what depends on it is refused; a person must look. */
  readonly onUnreadable: (error: unknown) => void;
}

/** The directory's records, indexed, those of apps packed: what every request reads. */
export class FleetMemory implements WatchCacheSink, FleetReader {
  readonly #options: FleetMemoryOptions;
  readonly #accounts = new Map<string, AccountMemory>();
  readonly #lone = new SingletonRecords();
  readonly #accountIdOfKey = new Map<string, string>();
  #apps = new AppTable();
  /** By their number. */
  #numbered: AccountMemory[] = [];
  readonly #listeners = new Set<FleetListener>();
  /** Keys of the range that this program does not know or cannot read, by revision: the directory asks for those too. */
  readonly #unread = new Map<string, number>();
  #unreadableSeen = 0;
  #whole = false;
  /** By account, the apps that the listeners are yet to be told of; `undefined` among them is the account itself. */
  #touched = new Map<string, Set<string | undefined>>();

  constructor(options: FleetMemoryOptions) {
    this.#options = options;
  }

  /** False until it is filled, and while it is filled anew: what is not found then may well be in the store. */
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

  // What the requests read.

  readonly atOnce = true;

  account(accountId: string): AccountMemory | undefined {
    const account = this.#accounts.get(accountId);
    return account && account.revision > 0 ? account : undefined;
  }

  *accounts(): Iterable<AccountMemory> {
    for (const account of this.#accounts.values()) if (account.revision > 0) yield account;
  }

  /** Accounts of which a record of these kinds cannot be read: what memory says of them is not all. */
  unreadableAccounts(kinds: readonly Place['kind'][] = ['account', 'app']): ReadonlySet<string> {
    const accounts = new Set<string>();
    for (const key of this.#unread.keys()) {
      const place = placeOf(key);
      if (place && kinds.includes(place.kind)) accounts.add(place.accountId);
    }
    return accounts;
  }

  /** How many records could not be read so far: memory holds less than it did where this has grown. */
  get unreadableSeen(): number {
    return this.#unreadableSeen;
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
    return this.#lone.day;
  }

  activeKey(): Versioned<ActiveKeyRecord> | undefined {
    return this.#lone.activeKey;
  }

  #found(row: number): FoundApp | undefined {
    if (row < 0) return undefined;
    const account = this.#numbered[this.#apps.accountOf(row)];
    if (!account || account.revision === 0) return undefined;
    return { account, app: this.#apps.recent(row, account.id) };
  }

  // What the directory feeds.

  put(entry: Entry): void {
    if (this.#lone.knows(entry.key)) return this.#putSingleton(entry);
    const place = placeOf(entry.key);
    if (this.#unread.size > 0) this.#unread.delete(entry.key);
    if (!place) {
      this.#unread.set(entry.key, entry.revision);
      return;
    }
    try {
      this.#store(place, entry);
    } catch (error) {
      this.#drop(place);
      this.#unread.set(entry.key, entry.revision);
      this.#unreadableSeen += 1;
      this.#options.onUnreadable(error);
    }
    this.#touch(place);
  }

  #putSingleton(entry: Entry): void {
    this.#unread.delete(entry.key);
    try {
      this.#lone.put(entry);
    } catch (error) {
      this.#lone.drop(entry.key);
      this.#unread.set(entry.key, entry.revision);
      this.#options.onUnreadable(error);
    }
  }

  remove(key: string): void {
    this.#unread.delete(key);
    if (this.#lone.knows(key)) return this.#lone.drop(key);
    const place = placeOf(key);
    if (!place) return;
    this.#drop(place);
    this.#touch(place);
  }

  #touch({ accountId, kind, id }: Place): void {
    if (kind === 'seen' || kind === 'tally') return;
    const touched = this.#touched.get(accountId);
    // While memory is filled, its account stands for an app: nobody sleeps through that either.
    const what = kind === 'app' && this.#whole ? id : undefined;
    if (touched) touched.add(what);
    else this.#touched.set(accountId, new Set([what]));
  }

  /** The listeners are told once memory is whole again: until then whoever looked would ask the store, all at once. */
  clear(): void {
    for (const accountId of this.#accounts.keys()) this.#touched.set(accountId, new Set([undefined]));
    this.#accounts.clear();
    this.#lone.clear();
    this.#accountIdOfKey.clear();
    // Whoever still holds an account of before reads on in the table of before.
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
    if (this.#lone.knows(key)) return this.#lone.revisionOf(key);
    const place = placeOf(key);
    const account = place && this.#accounts.get(place.accountId);
    if (!account) return undefined;
    return account.revisionOf(place) || undefined;
  }

  *held(prefix: string): Iterable<readonly [key: string, revision: number]> {
    for (const held of this.#unread) if (held[0].startsWith(prefix)) yield held;
    for (const held of this.#lone.held()) if (held[0].startsWith(prefix)) yield held;
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

  #store(place: Place, entry: Entry): void {
    const account = this.#accountOf(place.accountId);
    account.put(place, entry);
    if (place.kind === 'key') this.#accountIdOfKey.set(place.id, account.id);
  }

  #drop(place: Place): void {
    const account = this.#accounts.get(place.accountId);
    if (place.kind === 'key') this.#accountIdOfKey.delete(place.id);
    account?.drop(place);
  }
}
