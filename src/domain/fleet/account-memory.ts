import { PackedNumbers, type Numbers } from '../../packed/number-map.ts';
import { withRoom } from '../../packed/table.ts';
import type { Entry } from '../../store/port.ts';
import { parseRecord, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import {
  accountSchema,
  apiKeySchema,
  countersSchema,
  lastSeenSchema,
  NO_COUNTERS,
  otelSchema,
  type AccountRecord,
  type CountersRecord,
  type OtelRecord,
} from '../records/records.ts';
import { membersSchema, NO_MEMBERS, type MembersRecord } from '../records/user-records.ts';
import type { AppTable } from './app-table.ts';
import { eachLastSeen } from './last-seen-codec.ts';
import type { AccountReader, ApiKeyEntry, AppEntry } from './reader.ts';

/** A parsed key of the cached range: the account, the kind of record, and which one. */
export interface RecordRef {
  readonly accountId: string;
  readonly kind: 'account' | 'key' | 'app' | 'otel' | 'tally' | 'seen' | 'members';
  /** The id of the API key or app; `''` for records of which an account has one. */
  readonly id: string;
}

function endOfPart(key: string, start: number): number {
  const slash = key.indexOf('/', start);
  return slash < 0 ? key.length : slash;
}

/** Parses a key; undefined for a key that no account has, or of a kind that this program does not know. */
export function recordRefOf(key: string): RecordRef | undefined {
  if (!key.startsWith(KEYS.accounts)) return undefined;
  // By hand, without `split`: a start parses a million keys.
  const afterId = endOfPart(key, KEYS.accounts.length);
  const afterKind = endOfPart(key, afterId + 1);
  const accountId = key.slice(KEYS.accounts.length, afterId);
  const kind = afterId === key.length ? 'account' : key.slice(afterId + 1, afterKind);
  const id = key.slice(afterKind + 1, endOfPart(key, afterKind + 1));
  switch (kind) {
    case 'account':
    case 'key':
    case 'app':
    case 'otel':
    case 'tally':
    case 'seen':
    case 'members':
      return { accountId, kind, id };
    default:
      return undefined;
  }
}

let versions = 0;

/** The records of one account in memory. Other records may come before the account's own, while `revision` is 0. */
export class AccountMemory implements AccountReader {
  readonly id: string;
  record: AccountRecord = { name: '', entitlement: 'standard', disabled: true, createdAt: 0 };
  revision = 0;
  lastSeenRevision = 0;
  /** Changes with every app and last contact. No two states in this process share one, not even after a new listing. */
  appsVersion = (versions += 1);
  /** The account's number in the memory, which is the group of its apps in the table. */
  readonly number: number;
  readonly #table: AppTable;
  /** Rows of the account's apps in the table, the first `#appCount` of them. */
  #rows = NO_ROWS;
  #appCount = 0;
  readonly #keys = new Map<string, ApiKeyEntry>();
  #otel: Versioned<OtelRecord> | undefined;
  #counters: Versioned<CountersRecord> = NO_COUNTERS;
  #seen: Numbers = NOTHING_SEEN;
  #members: Versioned<MembersRecord> = NO_MEMBERS;

  constructor(id: string, number: number, table: AppTable) {
    this.id = id;
    this.number = number;
    this.#table = table;
  }

  app(appId: string): AppEntry | undefined {
    const row = this.#table.find(appId, this.number);
    return row < 0 ? undefined : this.#table.recent(row, this.id);
  }

  apps(): readonly AppEntry[] {
    return Array.from(this.#held(), (row) => this.#table.app(row, this.id));
  }

  get appCount(): number {
    return this.#appCount;
  }

  /** The ids of its active apps, in no particular order. A night asks all accounts for them. */
  activeIds(): string[] {
    const ids: string[] = [];
    for (const row of this.#held()) if (this.#table.isActive(row)) ids.push(this.#table.idOf(row));
    return ids;
  }

  /** The slots of its apps, in no particular order. */
  slots(): Iterable<number> {
    return Array.from(this.#held(), (row) => this.#table.slotOf(row));
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

  counters(): Versioned<CountersRecord> {
    return this.#counters;
  }

  members(): Versioned<MembersRecord> {
    return this.#members;
  }

  lastSeen(): Numbers {
    return this.#seen;
  }

  /** @throws BadRecord, and then holds what it held before */
  put({ kind, id }: RecordRef, entry: Entry): void {
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
        this.#putApp(id, entry);
        this.appsVersion = versions += 1;
        break;
      }
      case 'otel': {
        this.#otel = parseRecord(otelSchema, entry);
        break;
      }
      case 'tally': {
        this.#counters = parseRecord(countersSchema, entry);
        break;
      }
      case 'members': {
        this.#members = parseRecord(membersSchema, entry);
        break;
      }
      case 'seen': {
        const seen = new PackedNumbers({ expected: this.#appCount });
        eachLastSeen(parseRecord(lastSeenSchema, entry).record.packed, (slot, at) => seen.set(slot, at));
        this.#seen = seen;
        this.lastSeenRevision = entry.revision;
        this.appsVersion = versions += 1;
        break;
      }
    }
  }

  drop({ kind, id }: RecordRef): void {
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
        this.#dropApp(id);
        this.appsVersion = versions += 1;
        break;
      }
      case 'otel': {
        this.#otel = undefined;
        break;
      }
      case 'tally': {
        this.#counters = NO_COUNTERS;
        break;
      }
      case 'members': {
        this.#members = NO_MEMBERS;
        break;
      }
      case 'seen': {
        this.#seen = NOTHING_SEEN;
        this.lastSeenRevision = 0;
        this.appsVersion = versions += 1;
        break;
      }
    }
  }

  /** The revision at which memory holds the record; 0 where it holds none. */
  revisionOf({ kind, id }: RecordRef): number {
    switch (kind) {
      case 'account':
        return this.revision;
      case 'key':
        return this.#keys.get(id)?.revision ?? 0;
      case 'app':
        return this.#table.revisionOf(this.#table.find(id, this.number));
      case 'otel':
        return this.#otel?.revision ?? 0;
      case 'tally':
        return this.#counters.revision;
      case 'members':
        return this.#members.revision;
      case 'seen':
        return this.lastSeenRevision;
    }
  }

  *held(): Iterable<readonly [key: string, revision: number]> {
    if (this.revision > 0) yield [KEYS.account(this.id), this.revision];
    for (const key of this.#keys.values()) yield [KEYS.apiKey(this.id, key.id), key.revision];
    for (const row of this.#held()) yield [KEYS.app(this.id, this.#table.idOf(row)), this.#table.revisionOf(row)];
    if (this.#otel) yield [KEYS.otel(this.id), this.#otel.revision];
    if (this.#counters.revision > 0) yield [KEYS.counters(this.id), this.#counters.revision];
    if (this.#members.revision > 0) yield [KEYS.members(this.id), this.#members.revision];
    if (this.lastSeenRevision > 0) yield [KEYS.lastSeen(this.id), this.lastSeenRevision];
  }

  #held(): Uint32Array {
    return this.#rows.subarray(0, this.#appCount);
  }

  #putApp(id: string, entry: Entry): void {
    const known = this.#table.find(id, this.number);
    const row = this.#table.put(known, this.number, id, entry);
    if (known >= 0) return;
    this.#rows = withRoom(this.#rows, Uint32Array, this.#appCount);
    this.#rows[this.#appCount] = row;
    this.#appCount += 1;
  }

  #dropApp(id: string): void {
    const row = this.#table.find(id, this.number);
    if (row < 0) return;
    this.#table.remove(row);
    this.#appCount -= 1;
    // The last row moves to the gap.
    this.#rows[this.#rows.indexOf(row)] = this.#rows[this.#appCount] ?? 0;
  }
}

const NO_ROWS = new Uint32Array();
const NOTHING_SEEN: Numbers = new Map();
