import { PackedNumbers, type Numbers } from '../../packed/number-map.ts';
import { withRoom } from '../../packed/table.ts';
import type { Entry, Key, made } from '../../store/port.ts';
import { absent, parseRecord, versioned, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { type AccountRecord, type CountersRecord, NO_COUNTERS, type StoredRecord } from '../records/account-records.ts';
import type { OtelRecord } from '../records/otel-records.ts';
import { type MembersRecord, NO_MEMBERS } from '../records/user-records.ts';
import type { AppTable } from './app-table.ts';
import { addedTo, eachLastSeen, NO_SENDERS, NOTHING_ADDED, sendersOf, type KnownContacts } from './last-seen-codec.ts';
import type { AccountReader, ApiKeyEntry, AppEntry } from './reader.ts';
import type { RecordRef } from './record-ref.ts';

let versions = 0;

/** The records of which an account has one each; `lastSeen` is held as the codec reads it. */
interface Singles {
  otel: Versioned<OtelRecord> | undefined;
  counters: Versioned<CountersRecord> | undefined;
  members: Versioned<MembersRecord> | undefined;
  stored: Versioned<StoredRecord> | undefined;
}

/**
 * The records of one account in memory, which change with every batch of the watch. Other records may come before the
 * account's own. Nobody outside of this folder holds one: requests and plans hold its `view`.
 */
export class AccountMemory implements Singles {
  readonly id: string;
  /** The account's number in the memory, which is the group of its apps in the table. */
  readonly number: number;
  readonly table: AppTable;
  /** The account with its record as it is now; undefined while there is none. */
  view: AccountView | undefined;
  /** Changes with every app and last contact. No two states in this process share one, not even after a new listing. */
  appsVersion = (versions += 1);
  appCount = 0;
  readonly apiKeys = new Map<string, ApiKeyEntry>();
  otel: Singles['otel'];
  counters: Singles['counters'];
  members: Singles['members'];
  stored: Singles['stored'];
  lastSeen: Versioned<Numbers> | undefined;
  senders = NO_SENDERS;
  added = NOTHING_ADDED;
  /** Rows of the account's apps in the table, the first `appCount` of them. */
  #rows = NO_ROWS;

  constructor(id: string, number: number, table: AppTable) {
    this.id = id;
    this.number = number;
    this.table = table;
  }

  /** @throws BadRecord, and then holds what it held before */
  put({ kind, id }: RecordRef, entry: Entry): void {
    KINDS[kind].put(this, entry, id);
  }

  drop({ kind, id }: RecordRef): void {
    KINDS[kind].drop(this, id);
  }

  /** The revision at which memory holds the record; 0 where it holds none. */
  revisionOf({ kind, id }: RecordRef): number {
    return KINDS[kind].revisionOf(this, id);
  }

  *held(): Iterable<readonly [key: string, revision: number]> {
    for (const row of this.rows()) yield [KEYS.app(this.id, this.table.idOf(row)), this.table.revisionOf(row)];
    const { view, otel, counters, members, stored, lastSeen } = this;
    for (const one of [view, otel, counters, members, stored, lastSeen, ...this.apiKeys.values()]) {
      if (one) yield [one.key, one.revision];
    }
  }

  rows(): Uint32Array {
    return this.#rows.subarray(0, this.appCount);
  }

  putApp(id: string, entry: Entry): void {
    const known = this.table.find(id, this.number);
    const row = this.table.put(known, this.number, id, entry);
    this.appsVersion = versions += 1;
    if (known >= 0) return;
    this.#rows = withRoom(this.#rows, Uint32Array, this.appCount);
    this.#rows[this.appCount] = row;
    this.appCount += 1;
  }

  dropApp(id: string): void {
    this.appsVersion = versions += 1;
    const row = this.table.find(id, this.number);
    if (row < 0) return;
    this.table.remove(row);
    this.appCount -= 1;
    // The last row moves to the gap.
    this.#rows[this.#rows.indexOf(row)] = this.#rows[this.appCount] ?? 0;
  }

  putLastSeen(entry: Entry): void {
    const seen = new PackedNumbers({ expected: this.appCount });
    const { record } = parseRecord(KEYS.lastSeen, entry);
    eachLastSeen(record.packed, (slot, at) => seen.set(slot, at));
    this.senders = sendersOf(record);
    this.added = addedTo(record);
    this.lastSeen = versioned(entry, seen);
    this.appsVersion = versions += 1;
  }

  dropLastSeen(): void {
    this.lastSeen = undefined;
    this.senders = NO_SENDERS;
    this.added = NOTHING_ADDED;
    this.appsVersion = versions += 1;
  }
}

/**
 * An account with its record as memory held it when the account was asked for: another record of it is another view.
 * The account's other records are read as memory holds them when they are asked for; each answer is a snapshot, too.
 */
export class AccountView implements AccountReader {
  declare readonly [made]: 'snapshot';
  readonly id: string;
  readonly key: Key;
  readonly record: AccountRecord;
  readonly revision: number;
  readonly #memory: AccountMemory;

  constructor(memory: AccountMemory, { key, record, revision }: Versioned<AccountRecord>) {
    this.id = memory.id;
    this.key = key;
    this.record = record;
    this.revision = revision;
    this.#memory = memory;
  }

  app(appId: string): AppEntry | undefined {
    const { table, number } = this.#memory;
    const row = table.find(appId, number);
    return row < 0 ? undefined : table.recent(row, this.id);
  }

  apps(): readonly AppEntry[] {
    return Array.from(this.#memory.rows(), (row) => this.#memory.table.app(row, this.id));
  }

  get appCount(): number {
    return this.#memory.appCount;
  }

  get appsVersion(): number {
    return this.#memory.appsVersion;
  }

  /** The ids of its active apps, in no particular order. A night asks all accounts for them. */
  activeIds(): string[] {
    const { table } = this.#memory;
    const ids: string[] = [];
    for (const row of this.#memory.rows()) if (table.isActive(row)) ids.push(table.idOf(row));
    return ids;
  }

  /** The slots of its apps, in no particular order. */
  slots(): Iterable<number> {
    return Array.from(this.#memory.rows(), (row) => this.#memory.table.slotOf(row));
  }

  apiKey(keyId: string): ApiKeyEntry | undefined {
    return this.#memory.apiKeys.get(keyId);
  }

  apiKeys(): readonly ApiKeyEntry[] {
    return [...this.#memory.apiKeys.values()];
  }

  otel(): Versioned<OtelRecord> | undefined {
    return this.#memory.otel;
  }

  counters(): Versioned<CountersRecord> {
    return this.#memory.counters ?? absent(KEYS.counters(this.id), NO_COUNTERS);
  }

  members(): Versioned<MembersRecord> {
    return this.#memory.members ?? absent(KEYS.members(this.id), NO_MEMBERS);
  }

  /** The bytes that it stores, as the leader last wrote them; undefined while that is little, or not counted. */
  stored(): Versioned<StoredRecord> | undefined {
    return this.#memory.stored;
  }

  lastSeen(): Versioned<Numbers> {
    return this.#memory.lastSeen ?? absent(KEYS.lastSeen(this.id), NOTHING_SEEN);
  }

  /** The senders of some of these contacts, by slot. */
  senders(): Numbers {
    return this.#memory.senders;
  }

  /** Returns all that the record of the contacts has. */
  contacts(): KnownContacts {
    return { ...this.lastSeen(), senders: this.#memory.senders, added: this.#memory.added };
  }
}

const NO_ROWS = new Uint32Array();
const NOTHING_SEEN: Numbers = new Map();

/** Memory's ways with the records of one kind. `put` throws BadRecord, and memory then holds what it held before. */
interface Kind {
  put(memory: AccountMemory, entry: Entry, id: string): void;
  drop(memory: AccountMemory, id: string): void;
  revisionOf(memory: AccountMemory, id: string): number;
}

const single = <K extends keyof Singles>(name: K, parse: (entry: Entry) => Singles[K]): Kind => ({
  put(memory: Singles, entry) {
    memory[name] = parse(entry);
  },
  drop(memory: Singles) {
    memory[name] = undefined;
  },
  revisionOf: (memory) => memory[name]?.revision ?? 0,
});

const KINDS: Readonly<Record<RecordRef['kind'], Kind>> = {
  account: {
    put(memory, entry) {
      memory.view = new AccountView(memory, parseRecord(KEYS.account, entry));
    },
    drop(memory) {
      memory.view = undefined;
    },
    revisionOf: ({ view }) => view?.revision ?? 0,
  },
  apiKey: {
    put: ({ apiKeys }, entry, id) => void apiKeys.set(id, { id, ...parseRecord(KEYS.apiKey, entry) }),
    drop: ({ apiKeys }, id) => void apiKeys.delete(id),
    revisionOf: ({ apiKeys }, id) => apiKeys.get(id)?.revision ?? 0,
  },
  app: {
    put: (memory, entry, id) => memory.putApp(id, entry),
    drop: (memory, id) => memory.dropApp(id),
    revisionOf: ({ table, number }, id) => table.revisionOf(table.find(id, number)),
  },
  lastSeen: {
    put: (memory, entry) => memory.putLastSeen(entry),
    drop: (memory) => memory.dropLastSeen(),
    revisionOf: ({ lastSeen }) => lastSeen?.revision ?? 0,
  },
  otel: single('otel', (entry) => parseRecord(KEYS.otel, entry)),
  counters: single('counters', (entry) => parseRecord(KEYS.counters, entry)),
  members: single('members', (entry) => parseRecord(KEYS.members, entry)),
  stored: single('stored', (entry) => parseRecord(KEYS.stored, entry)),
};
