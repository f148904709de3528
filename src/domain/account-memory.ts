import type { Entry } from '../store/port.ts';
import type { AccountReader, ApiKeyEntry, AppEntry } from './fleet-reader.ts';
import {
  accountSchema,
  apiKeySchema,
  appSchema,
  KEYS,
  NO_TALLY,
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

/** Where a key of the directory lies: whose it is, what it is, and which one. */
export interface Place {
  readonly accountId: string;
  readonly kind: 'account' | 'key' | 'app' | 'otel' | 'tally' | 'seen';
  /** Of the API key or app; `''` for what an account has one of. */
  readonly id: string;
}

export function placeOf(key: string): Place | undefined {
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

let versions = 0;

/** The records of one account in memory. A record of it may come before the account's own: then it waits here. */
export class AccountMemory implements AccountReader {
  readonly id: string;
  record: AccountRecord = { name: '', entitlement: 'standard', disabled: true, createdAt: 0 };
  revision = 0;
  seenRevision = 0;
  /** Never given twice in this process, not even to an account that is listed anew. */
  appsVersion = (versions += 1);
  readonly #apps = new Map<string, AppEntry>();
  readonly #keys = new Map<string, ApiKeyEntry>();
  #otel: Versioned<OtelRecord> | undefined;
  #tally: Versioned<TallyRecord> = NO_TALLY;
  #seen: ReadonlyMap<number, number> = new Map();

  constructor(id: string) {
    this.id = id;
  }

  app(appId: string): AppEntry | undefined {
    return this.#apps.get(appId);
  }

  apps(): readonly AppEntry[] {
    return [...this.#apps.values()];
  }

  apiKey(keyId: string): ApiKeyEntry | undefined {
    return this.#keys.get(keyId);
  }

  apiKeys(): readonly ApiKeyEntry[] {
    return [...this.#keys.values()];
  }

  otel(): Versioned<OtelRecord> | undefined {
    return this.#otel;
  }

  tally(): Versioned<TallyRecord> {
    return this.#tally;
  }

  seen(): ReadonlyMap<number, number> {
    return this.#seen;
  }

  /** @throws BadRecord, and then holds what it held before */
  put({ kind, id }: Place, entry: Entry): void {
    switch (kind) {
      case 'account': {
        Object.assign(this, parseRecord(accountSchema, entry));
        break;
      }
      case 'key': {
        this.#keys.set(id, { id, ...parseRecord(apiKeySchema, entry) });
        break;
      }
      case 'app': {
        this.#apps.set(id, { id, accountId: this.id, ...parseRecord(appSchema, entry) });
        this.appsVersion = versions += 1;
        break;
      }
      case 'otel': {
        this.#otel = parseRecord(otelSchema, entry);
        break;
      }
      case 'tally': {
        this.#tally = parseRecord(tallySchema, entry);
        break;
      }
      case 'seen': {
        this.#seen = unpackSeen(parseRecord(seenSchema, entry).record.packed);
        this.seenRevision = entry.revision;
        this.appsVersion = versions += 1;
        break;
      }
    }
  }

  drop({ kind, id }: Place): void {
    switch (kind) {
      case 'account': {
        this.revision = 0;
        break;
      }
      case 'key': {
        this.#keys.delete(id);
        break;
      }
      case 'app': {
        this.#apps.delete(id);
        this.appsVersion = versions += 1;
        break;
      }
      case 'otel': {
        this.#otel = undefined;
        break;
      }
      case 'tally': {
        this.#tally = NO_TALLY;
        break;
      }
      case 'seen': {
        this.#seen = new Map();
        this.seenRevision = 0;
        this.appsVersion = versions += 1;
        break;
      }
    }
  }

  /** 0 where it holds none. */
  revisionOf({ kind, id }: Place): number {
    switch (kind) {
      case 'account':
        return this.revision;
      case 'key':
        return this.#keys.get(id)?.revision ?? 0;
      case 'app':
        return this.#apps.get(id)?.revision ?? 0;
      case 'otel':
        return this.#otel?.revision ?? 0;
      case 'tally':
        return this.#tally.revision;
      case 'seen':
        return this.seenRevision;
    }
  }

  *held(): Iterable<readonly [key: string, revision: number]> {
    if (this.revision > 0) yield [KEYS.account(this.id), this.revision];
    for (const key of this.#keys.values()) yield [KEYS.apiKey(this.id, key.id), key.revision];
    for (const app of this.#apps.values()) yield [KEYS.app(this.id, app.id), app.revision];
    if (this.#otel) yield [KEYS.otel(this.id), this.#otel.revision];
    if (this.#tally.revision > 0) yield [KEYS.tally(this.id), this.#tally.revision];
    if (this.seenRevision > 0) yield [KEYS.seen(this.id), this.seenRevision];
  }
}
