import type { DirectorySink } from '../store/directory.ts';
import type { Entry } from '../store/port.ts';
import type { AccountReader, ApiKeyEntry, AppEntry, FleetReader, FoundApp } from './fleet-reader.ts';
import {
  accountSchema,
  apiKeySchema,
  appSchema,
  KEYS,
  otelSchema,
  parseRecord,
  seenSchema,
  tallySchema,
  type AccountRecord,
  type OtelRecord,
  type TallyRecord,
  type Versioned,
} from './records.ts';
import { unpackSeen } from './seen-codec.ts';

/** The records of one account in memory. A record of it may come before the account's own: then it waits here. */
class AccountMemory implements AccountReader {
  readonly id: string;
  record: AccountRecord = { name: '', entitlement: 'standard', disabled: true, createdAt: 0 };
  revision = 0;
  readonly appById = new Map<string, AppEntry>();
  readonly keyById = new Map<string, ApiKeyEntry>();
  otelRecord: Versioned<OtelRecord> | undefined;
  tallyRecord: Versioned<TallyRecord> = { record: { apps: 0, nextSlot: 0, idempotencyNext: 0 }, revision: 0 };
  seenBySlot: ReadonlyMap<number, number> = new Map();
  seenRevision = 0;
  appsVersion = 0;

  constructor(id: string) {
    this.id = id;
  }

  app(appId: string): AppEntry | undefined {
    return this.appById.get(appId);
  }

  apps(): readonly AppEntry[] {
    return [...this.appById.values()];
  }

  apiKey(keyId: string): ApiKeyEntry | undefined {
    return this.keyById.get(keyId);
  }

  apiKeys(): readonly ApiKeyEntry[] {
    return [...this.keyById.values()];
  }

  otel(): Versioned<OtelRecord> | undefined {
    return this.otelRecord;
  }

  tally(): Versioned<TallyRecord> {
    return this.tallyRecord;
  }

  seen(): ReadonlyMap<number, number> {
    return this.seenBySlot;
  }
}

/**
 * Called after a batch has been applied, with what it touched. No `appId`: the account, its configuration or a key.
 * Not for last contacts and counts, which change all the time and change nothing that a daemon is told.
 */
export type FleetListener = (accountId: string, appId: string | undefined) => void;

interface Place {
  readonly accountId: string;
  readonly kind: 'account' | 'key' | 'app' | 'otel' | 'tally' | 'seen';
  readonly id: string;
}

function placeOf(key: string): Place | undefined {
  if (!key.startsWith(KEYS.accounts)) return undefined;
  const [accountId = '', kind = 'account', id = ''] = key.slice(KEYS.accounts.length).split('/');
  switch (kind) {
    case 'account':
    case 'key':
    case 'app':
    case 'otel':
    case 'tally':
    case 'seen':
      return { accountId, kind, id };
    default:
      return undefined;
  }
}

export interface FleetMemoryOptions {
  /** A record that cannot be read is left out, so that what depends on it is refused; a person must look. */
  readonly onUnreadable: (error: unknown) => void;
}

/** The directory's records, parsed and indexed: what every request reads. */
export class FleetMemory implements DirectorySink, FleetReader {
  readonly #options: FleetMemoryOptions;
  readonly #accounts = new Map<string, AccountMemory>();
  readonly #accountIdOfKey = new Map<string, string>();
  readonly #appById = new Map<string, AppEntry>();
  readonly #appByCredential = new Map<string, AppEntry>();
  readonly #listeners = new Set<FleetListener>();
  /** Keys of the range that this program does not know or cannot read, by revision: the directory asks for those too. */
  readonly #unread = new Map<string, number>();
  #whole = false;
  #touched: (readonly [accountId: string, appId: string | undefined])[] = [];

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
    return this.#appById.size;
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

  accountIdOfKey(keyId: string): string | undefined {
    return this.#accountIdOfKey.get(keyId);
  }

  accountOfKey(keyId: string): { account: AccountReader; key: ApiKeyEntry } | undefined {
    const account = this.account(this.#accountIdOfKey.get(keyId) ?? '');
    const key = account?.keyById.get(keyId);
    return account && key && { account, key };
  }

  appOfCredential(hash: string): FoundApp | undefined {
    return this.#found(this.#appByCredential.get(hash));
  }

  appById(appId: string): FoundApp | undefined {
    return this.#found(this.#appById.get(appId));
  }

  #found(app: AppEntry | undefined): FoundApp | undefined {
    const account = app && this.account(app.accountId);
    return account && app && { account, app };
  }

  // What the directory feeds.

  put(entry: Entry): void {
    const place = placeOf(entry.key);
    this.#unread.delete(entry.key);
    if (!place) {
      this.#unread.set(entry.key, entry.revision);
      return;
    }
    try {
      this.#store(place, entry);
    } catch (error) {
      this.#drop(place);
      this.#unread.set(entry.key, entry.revision);
      this.#options.onUnreadable(error);
    }
    this.#touch(place);
  }

  remove(key: string): void {
    this.#unread.delete(key);
    const place = placeOf(key);
    if (!place) return;
    this.#drop(place);
    this.#touch(place);
  }

  #touch({ accountId, kind, id }: Place): void {
    if (kind === 'seen' || kind === 'tally') return;
    this.#touched.push([accountId, kind === 'app' ? id : undefined]);
  }

  clear(): void {
    for (const accountId of this.#accounts.keys()) this.#touched.push([accountId, undefined]);
    this.#accounts.clear();
    this.#accountIdOfKey.clear();
    this.#appById.clear();
    this.#appByCredential.clear();
    this.#unread.clear();
    this.#whole = false;
    this.#tell();
  }

  settled(): void {
    this.#whole = true;
    this.#tell();
  }

  #tell(): void {
    const touched = this.#touched;
    this.#touched = [];
    for (const [accountId, appId] of touched) for (const listener of this.#listeners) listener(accountId, appId);
  }

  revisionOf(key: string): number | undefined {
    const unread = this.#unread.get(key);
    if (unread !== undefined) return unread;
    const place = placeOf(key);
    const account = place && this.#accounts.get(place.accountId);
    if (!account) return undefined;
    switch (place.kind) {
      case 'account':
        return account.revision || undefined;
      case 'key':
        return account.keyById.get(place.id)?.revision;
      case 'app':
        return account.appById.get(place.id)?.revision;
      case 'otel':
        return account.otelRecord?.revision;
      case 'tally':
        return account.tallyRecord.revision || undefined;
      case 'seen':
        return account.seenRevision || undefined;
    }
  }

  *held(prefix: string): Iterable<readonly [key: string, revision: number]> {
    for (const held of this.#unread) if (held[0].startsWith(prefix)) yield held;
    const ids = prefix.slice(KEYS.accounts.length);
    for (const account of this.#accounts.values()) {
      if (!account.id.startsWith(ids)) continue;
      if (account.revision > 0) yield [KEYS.account(account.id), account.revision];
      for (const key of account.keyById.values()) yield [KEYS.apiKey(account.id, key.id), key.revision];
      for (const app of account.appById.values()) yield [KEYS.app(account.id, app.id), app.revision];
      if (account.otelRecord) yield [KEYS.otel(account.id), account.otelRecord.revision];
      if (account.tallyRecord.revision > 0) yield [KEYS.tally(account.id), account.tallyRecord.revision];
      if (account.seenRevision > 0) yield [KEYS.seen(account.id), account.seenRevision];
    }
  }

  #accountOf(accountId: string): AccountMemory {
    let account = this.#accounts.get(accountId);
    if (!account) this.#accounts.set(accountId, (account = new AccountMemory(accountId)));
    return account;
  }

  #store(place: Place, entry: Entry): void {
    const account = this.#accountOf(place.accountId);
    switch (place.kind) {
      case 'account': {
        Object.assign(account, parseRecord(accountSchema, entry));
        break;
      }
      case 'key': {
        account.keyById.set(place.id, { id: place.id, ...parseRecord(apiKeySchema, entry) });
        this.#accountIdOfKey.set(place.id, account.id);
        break;
      }
      case 'app': {
        this.#storeApp(account, { id: place.id, accountId: account.id, ...parseRecord(appSchema, entry) });
        break;
      }
      case 'otel': {
        account.otelRecord = parseRecord(otelSchema, entry);
        break;
      }
      case 'tally': {
        account.tallyRecord = parseRecord(tallySchema, entry);
        break;
      }
      case 'seen': {
        account.seenBySlot = unpackSeen(parseRecord(seenSchema, entry).record.packed);
        account.seenRevision = entry.revision;
        account.appsVersion += 1;
        break;
      }
    }
  }

  #storeApp(account: AccountMemory, app: AppEntry): void {
    this.#forgetCredential(account.appById.get(app.id));
    account.appById.set(app.id, app);
    account.appsVersion += 1;
    this.#appById.set(app.id, app);
    if (app.record.credential !== undefined) this.#appByCredential.set(app.record.credential, app);
  }

  #forgetCredential(app: AppEntry | undefined): void {
    const credential = app?.record.credential;
    // While memory is filled, the removal of an app may come after the next owner of its credential.
    if (credential !== undefined && this.#appByCredential.get(credential) === app) {
      this.#appByCredential.delete(credential);
    }
  }

  #drop(place: Place): void {
    const account = this.#accounts.get(place.accountId);
    if (!account) return;
    switch (place.kind) {
      case 'account': {
        account.revision = 0;
        break;
      }
      case 'key': {
        account.keyById.delete(place.id);
        this.#accountIdOfKey.delete(place.id);
        break;
      }
      case 'app': {
        this.#forgetCredential(account.appById.get(place.id));
        account.appById.delete(place.id);
        account.appsVersion += 1;
        this.#appById.delete(place.id);
        break;
      }
      case 'otel': {
        account.otelRecord = undefined;
        break;
      }
      case 'tally': {
        account.tallyRecord = { record: { apps: 0, nextSlot: 0, idempotencyNext: 0 }, revision: 0 };
        break;
      }
      case 'seen': {
        account.seenBySlot = new Map();
        account.seenRevision = 0;
        break;
      }
    }
  }
}
