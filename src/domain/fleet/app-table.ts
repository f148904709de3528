import { PackedIndex } from '../../packed/hash-index.ts';
import { hashOfBytes, hashOfText, isTextAt } from '../../packed/hash.ts';
import { PackedTable, withRoom } from '../../packed/table.ts';
import type { PackedText } from '../../packed/text-pages.ts';
import type { Entry, Key, made } from '../../store/port.ts';
import { KEYS } from '../records/keys.ts';
import type { AppRecord } from '../records/app-records.ts';
import { readSummary, type AppSummary } from './app-summary.ts';
import type { AppEntry } from './reader.ts';

/** An app as memory held it when it was asked for. Its record is parsed at the first use. */
class PackedApp implements AppEntry {
  declare readonly [made]: 'snapshot';
  readonly id: string;
  readonly accountId: string;
  readonly revision: number;
  readonly slot: number;
  readonly status: AppSummary['status'];
  readonly connection: AppSummary['connection'];
  readonly hasOpenCodes: boolean;
  readonly isProvisional: boolean;
  readonly isOffered: boolean;
  readonly #text: PackedText;
  #record: AppRecord | undefined;

  constructor(at: Pick<AppEntry, 'id' | 'accountId' | 'revision' | 'slot'>, flags: number, text: PackedText) {
    this.id = at.id;
    this.accountId = at.accountId;
    this.revision = at.revision;
    this.slot = at.slot;
    this.status = STATUSES[flags & STATUS_BITS] ?? 'pending';
    this.connection = (flags & CLOUD) === 0 ? 'private' : 'cloud';
    this.hasOpenCodes = (flags & OPEN_CODES) !== 0;
    this.isProvisional = (flags & PROVISIONAL) !== 0;
    this.isOffered = (flags & OFFERED) !== 0;
    this.#text = text;
  }

  get key(): Key {
    return KEYS.app(this.accountId, this.id);
  }

  /** The text needs no check: it was judged when it was put into memory. */
  get record(): AppRecord {
    const { bytes, start, end } = this.#text;
    return (this.#record ??= JSON.parse(bytes.toString('utf8', start, end)) as AppRecord);
  }
}

const STATUSES = ['pending', 'active', 'revoked'] as const;
const STATUS_BITS = 3;
const ACTIVE = STATUSES.indexOf('active');
const CLOUD = 4;
const OPEN_CODES = 8;
const PROVISIONAL = 16;
const OFFERED = 32;

const flagsOf = ({ status, connection, hasOpenCodes, isProvisional, isOffered }: AppSummary): number =>
  STATUSES.indexOf(status) |
  (connection === 'cloud' ? CLOUD : 0) |
  (hasOpenCodes ? OPEN_CODES : 0) |
  (isProvisional ? PROVISIONAL : 0) |
  (isOffered ? OFFERED : 0);

/**
 * How many apps that were read lately are kept unpacked, by row: an app that is read again and again is unpacked once.
 */
const RECENT_ROWS = 4096;
/** A longer text is no hash of a credential: no request can present it. */
const CREDENTIAL_BYTES_MAX = 255;

/**
 * The apps of all accounts, packed: the text of each record, found by account and id, and by the credential that works
 * now; the fields that a poll needs stand in columns beside it. An account is given by its number in the fleet's
 * memory.
 */
export class AppTable {
  readonly #rows = new PackedTable((row) => this.#drop(row));
  readonly #byCredential = new PackedIndex();
  #slots = new Float64Array();
  #flags = new Uint8Array();
  /** The position of the credential in the record's text; there is no credential where the length is 0. */
  #credentialAt = new Uint32Array();
  #credentialBytes = new Uint8Array();
  readonly #recent = Array.from<PackedApp | undefined>({ length: RECENT_ROWS });
  readonly #recentRows = new Uint32Array(RECENT_ROWS);

  get size(): number {
    return this.#rows.size;
  }

  /** Bytes of the records' text and of the indexes. */
  get bytes(): number {
    const columns = [this.#slots, this.#flags, this.#credentialAt, this.#credentialBytes];
    return columns.reduce((sum, { byteLength }) => sum + byteLength, this.#rows.bytes + this.#byCredential.bytes);
  }

  /** The row of an app, of this account or of any; -1 where there is none. */
  find(appId: string, account?: number): number {
    return this.#rows.find(appId, account);
  }

  /** The row of the app whose credential has this hash and works now; -1 where there is none. */
  findCredential(hash: string): number {
    const at = this.#indexSlotOf(hash, hashOfText(hash));
    return at < 0 ? -1 : this.#byCredential.rowAt(at);
  }

  accountOf(row: number): number {
    return this.#rows.groupOf(row);
  }

  idOf(row: number): string {
    return this.#rows.keyOf(row);
  }

  isActive(row: number): boolean {
    return ((this.#flags[row] ?? 0) & STATUS_BITS) === ACTIVE;
  }

  revisionOf(row: number): number {
    return this.#rows.revisionOf(row);
  }

  /**
   * Adds an app, or gives the one at this row (-1: none) another record. @returns its row
   * @throws BadRecord, and then holds what it held before
   */
  put(row: number, account: number, appId: string, entry: Entry): number {
    const { summary, credential } = readSummary(entry);
    // A credential that the text spells with escapes could not be found in it.
    const isPlain = credential === undefined || entry.value.includes(credential);
    const text = isPlain ? entry.value : JSON.stringify(JSON.parse(entry.value));
    if (row >= 0) this.#forget(row);
    if (row >= 0) this.#rows.replace(row, entry.revision, text);
    const at = row >= 0 ? row : this.#rows.add(account, appId, entry.revision, text);
    this.#makeRoom(at);
    this.#slots[at] = summary.slot;
    this.#flags[at] = flagsOf(summary);
    this.#noteCredential(at, text, credential);
    return at;
  }

  remove(row: number): void {
    this.#forget(row);
    this.#rows.remove(row);
  }

  /** The app at the row. An app that is asked for again and again stays unpacked. */
  recent(row: number, accountId: string): AppEntry {
    const at = row % RECENT_ROWS;
    const recent = this.#recentRows[at] === row ? this.#recent[at] : undefined;
    if (recent) return recent;
    this.#recentRows[at] = row;
    return (this.#recent[at] = this.#unpacked(row, accountId));
  }

  /** As `recent`, for callers that go through many apps: those that were read lately stay unpacked. */
  app(row: number, accountId: string): AppEntry {
    return this.#unpacked(row, accountId);
  }

  slotOf(row: number): number {
    return this.#slots[row] ?? 0;
  }

  #indexSlotOf(credential: string, sum: number): number {
    for (let at = this.#byCredential.first(sum); at >= 0; at = this.#byCredential.next(at, sum)) {
      const { bytes, start, end } = this.#credentialOf(this.#byCredential.rowAt(at));
      if (isTextAt(bytes, start, end, credential)) return at;
    }
    return -1;
  }

  #unpacked(row: number, accountId: string): PackedApp {
    const [id, revision] = [this.#rows.keyOf(row), this.#rows.revisionOf(row)];
    const at = { id, accountId, revision, slot: this.slotOf(row) };
    return new PackedApp(at, this.#flags[row] ?? 0, this.#rows.valueOf(row));
  }

  #credentialOf(row: number): PackedText {
    const { bytes, start } = this.#rows.valueOf(row);
    const from = start + (this.#credentialAt[row] ?? 0);
    return { bytes, start: from, end: from + (this.#credentialBytes[row] ?? 0) };
  }

  #noteCredential(row: number, text: string, credential = ''): void {
    if (credential === '' || credential.length > CREDENTIAL_BYTES_MAX) return;
    const { start, end } = this.#rows.valueOf(row);
    const isAscii = end - start === text.length;
    const at = text.indexOf(credential);
    this.#credentialAt[row] = isAscii ? at : Buffer.byteLength(text.slice(0, at));
    this.#credentialBytes[row] = credential.length;
    const sum = hashOfText(credential);
    const other = this.#indexSlotOf(credential, sum);
    // Two rows have one credential only while memory is filled, when the removal of the older one is yet to come.
    if (other >= 0) this.#byCredential.replace(other, row);
    else this.#byCredential.add(sum, row);
  }

  #drop(row: number): void {
    this.#recent[row % RECENT_ROWS] = undefined;
  }

  #forget(row: number): void {
    this.#drop(row);
    if (this.#credentialBytes[row] === 0) return;
    const { bytes, start, end } = this.#credentialOf(row);
    this.#byCredential.remove(hashOfBytes(bytes, start, end), row);
    this.#credentialBytes[row] = 0;
  }

  #makeRoom(row: number): void {
    if (row < this.#slots.length) return;
    this.#slots = withRoom(this.#slots, Float64Array, row);
    this.#flags = withRoom(this.#flags, Uint8Array, row);
    this.#credentialAt = withRoom(this.#credentialAt, Uint32Array, row);
    this.#credentialBytes = withRoom(this.#credentialBytes, Uint8Array, row);
  }
}
