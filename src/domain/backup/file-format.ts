import { createHash, createHmac, timingSafeEqual, type Hash, type Hmac } from 'node:crypto';
import * as z from 'zod';
import type { Entry, Key } from '../../store/port.ts';
import { derivedKey } from '../keys/derived-key.ts';
import type { KeyRing } from '../keys/key-ring.ts';

/*
 * A backup is lines of JSON: a header, one line an entry in the order of the keys, and a trailer with their number, and
 * with the SHA-256 and the HMAC of all bytes before it. A file without a trailer is incomplete. The sum shows damage to
 * anybody; the HMAC shows those who have the key file that a service with that key made the file (ADR 0030).
 */

export const BACKUP_FORMAT = 2;
/** The media type of a backup: one JSON text a line. */
export const BACKUP_MEDIA_TYPE = 'application/x-ndjson';
/** Words of a file that an error quotes are cut here. */
const WORDS_MAX = 500;
/** Larger than any record, so that a file that is no backup cannot fill memory. */
const LINE_BYTES_MAX = 8 * 1024 * 1024;

const snapshotSchema = z.looseObject({
  muster: z.literal('backup'),
  format: z.literal(BACKUP_FORMAT),
  /** The `FORMAT` of the records. */
  recordsFormat: z.int().min(1),
  /** The revision of the store at which every entry was read. */
  revision: z.int().min(0),
  at: z.iso.datetime(),
  backend: z.string(),
  version: z.string(),
  /** How many entries follow, if they were counted before. */
  entries: z.int().min(0).optional(),
});
/** The header without the key: it names the snapshot. */
export type BackupSnapshot = z.infer<typeof snapshotSchema>;
const backupHeaderSchema = snapshotSchema.extend({
  /** The key that signs the backup, by its number and its fingerprint. */
  key: z.looseObject({ number: z.int().min(1), fingerprint: z.string() }),
});
/** The fields that identify a file, in any format. */
const beginningSchema = z.looseObject({ muster: z.unknown(), format: z.unknown() });
export type BackupHeader = z.infer<typeof backupHeaderSchema>;

const trailerSchema = z.looseObject({ entries: z.int().min(0), sha256: z.string(), hmac: z.string() });
type BackupTrailer = z.infer<typeof trailerSchema>;
/** The line in place of a trailer, which says why the service could not go on. */
const failureSchema = z.looseObject({ failed: z.string() });
const entrySchema = z.tuple([z.string().regex(/^[\x20-\x7e]+$/), z.string(), z.int().min(1)]);

/** The file is no backup, is damaged, or cannot be used by this program. The message is for the operator. */
export class BadBackup extends Error {
  override readonly name = 'BadBackup';
}

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;

/** A key that signs a backup. */
export interface SigningKey {
  readonly number: number;
  readonly fingerprint: string;
  readonly key: Buffer;
}

const signatureOf = (key: Buffer): Hmac => createHmac('sha256', derivedKey(key, 'backup'));

/** Makes the lines of a backup, with its checksum and its signature. */
export class BackupWriter {
  readonly #key: SigningKey;
  readonly #hash: Hash = createHash('sha256');
  readonly #hmac: Hmac;
  #entries = 0;

  constructor(key: SigningKey) {
    this.#key = key;
    this.#hmac = signatureOf(key.key);
  }

  header(snapshot: BackupSnapshot): string {
    const { number, fingerprint } = this.#key;
    return this.#summed(line({ ...snapshot, key: { number, fingerprint } }));
  }

  entries(entries: readonly Entry[]): string {
    this.#entries += entries.length;
    return this.#summed(entries.map(({ key, value, revision }) => line([key, value, revision])).join(''));
  }

  trailer(): string {
    return line({ entries: this.#entries, sha256: this.#hash.digest('hex'), hmac: this.#hmac.digest('hex') });
  }

  failure(why: string): string {
    return line({ failed: why });
  }

  #summed(text: string): string {
    this.#hash.update(text);
    this.#hmac.update(text);
    return text;
  }
}

type BackupPiece = { readonly header: BackupHeader } | { readonly entry: Entry } | { readonly trailer: BackupTrailer };

/** How a reader decides who made a backup. */
export interface Proof {
  /** The keys that a signature is verified with; undefined where there are none. */
  readonly keyRing: KeyRing | undefined;
  /**
   * The caller compares the whole file with a digest that it trusts: a signature that cannot be verified is then none.
   */
  readonly vouched: boolean;
}

/**
 * Yields the header, each entry, and the trailer once checksum and signature have been verified.
 * @param proof without it only damage is found, and not who made the backup
 * @throws BadBackup at the first fault: everything that was yielded before must then be discarded
 */
export async function* readBackup(bytes: AsyncIterable<Uint8Array>, proof?: Proof): AsyncGenerator<BackupPiece, void> {
  const reader = new BackupReader(proof);
  for await (const line of linesOf(bytes)) yield reader.read(line);
  if (!reader.ended) throw brokenOff();
}

const brokenOff = (): BadBackup =>
  new BadBackup('The backup breaks off: its end is missing. Take another copy, or make another backup.');

class BackupReader {
  ended = false;
  readonly #proof: Proof | undefined;
  readonly #hash = createHash('sha256');
  #hmac: Hmac | undefined;
  #header: BackupHeader | undefined;
  #entries = 0;
  #keyBefore = '';

  constructor(proof: Proof | undefined) {
    this.#proof = proof;
  }

  read(bytes: Uint8Array): BackupPiece {
    if (this.ended) throw new BadBackup('The backup goes on after its end: it was altered.');
    if (bytes.at(-1) !== NEWLINE) throw brokenOff();
    const piece = this.#piece(bytes);
    // The trailer has the sums of everything before it.
    if (!this.ended) {
      this.#hash.update(bytes);
      this.#hmac?.update(bytes);
    }
    return piece;
  }

  #piece(bytes: Uint8Array): BackupPiece {
    const json = parsed(bytes);
    if (!this.#header) {
      this.#header = headerFrom(json);
      const key = this.#proof && signerOf(this.#header, this.#proof);
      this.#hmac = key && signatureOf(key);
      return { header: this.#header };
    }
    return Array.isArray(json) ? { entry: this.#entryFrom(json) } : { trailer: this.#trailerFrom(json) };
  }

  #entryFrom(json: unknown): Entry {
    this.#entries += 1;
    const entry = entrySchema.safeParse(json).data;
    // The keys are in ascending order, so that no key occurs twice.
    if (!entry || entry[0] <= this.#keyBefore) throw new BadBackup(`Entry ${this.#entries} of the backup is damaged.`);
    const [key, value, revision] = entry;
    this.#keyBefore = key;
    // The keys of a backup were those of a store.
    return { key: key as Key, value, revision };
  }

  #trailerFrom(json: unknown): BackupTrailer {
    const failure = failureSchema.safeParse(json).data;
    if (failure) throw new BadBackup(`The service could not finish the backup: ${failure.failed.slice(0, WORDS_MAX)}`);
    const trailer = trailerSchema.safeParse(json).data;
    if (!trailer) throw new BadBackup(`The backup is damaged after entry ${this.#entries}.`);
    if (trailer.entries !== this.#entries || trailer.sha256 !== this.#hash.digest('hex')) {
      throw new BadBackup('The backup was altered or damaged: its sum does not match. Take another copy.');
    }
    if (this.#hmac && !isEqual(this.#hmac.digest('hex'), trailer.hmac)) {
      throw new BadBackup(
        `The backup was not signed under key ${this.#header?.key.number ?? 0}, or was altered: take another copy.`,
      );
    }
    this.ended = true;
    return trailer;
  }
}

const isEqual = (own: string, given: string): boolean => {
  const [one, other] = [Buffer.from(own), Buffer.from(given)];
  return one.length === other.length && timingSafeEqual(one, other);
};

/**
 * Returns the key that the signature of a backup is verified with; undefined where the caller vouches for the file in
 * its place.
 * @throws BadBackup where nothing tells who made it
 */
function signerOf({ key }: BackupHeader, { keyRing, vouched }: Proof): Buffer | undefined {
  const { number, fingerprint } = key;
  if (keyRing?.fingerprint(number) === fingerprint) return keyRing.key(number);
  if (vouched) return undefined;
  const why = keyRing?.key(number) ? 'is another key in the key file' : 'is not in the key file';
  throw new BadBackup(
    `The backup is signed under key ${number}, which ${why}: name the key file that it was made with by --key-file. ` +
      'If every copy of that key file is lost, pass --allow-unsigned with the SHA-256 of the backup, taken from a place that ' +
      'you trust.',
  );
}

function headerFrom(json: unknown): BackupHeader {
  const { muster, format } = beginningSchema.safeParse(json).data ?? {};
  if (muster !== 'backup') throw new BadBackup('This is no backup of Muster.');
  if (typeof format === 'number' && format > BACKUP_FORMAT) {
    throw new BadBackup(`The backup was made by a newer Muster (format ${format}): use that version.`);
  }
  if (format === 1)
    throw new BadBackup('The backup has format 1, which no release of Muster has made: it is not read.');
  const header = backupHeaderSchema.safeParse(json).data;
  if (!header) throw new BadBackup('The first line of the backup is damaged.');
  return header;
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new BadBackup('This is no backup of Muster, or it was altered: a line of it is no JSON.');
  }
}

const NEWLINE = 0x0a;

/** Yields lines with their newlines; the last one has none where the file breaks off in it. */
async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of bytes) {
    const all: Uint8Array = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let from = 0;
    for (let end = all.indexOf(NEWLINE); end !== -1; end = all.indexOf(NEWLINE, from)) {
      yield all.subarray(from, end + 1);
      from = end + 1;
    }
    rest = all.subarray(from);
    if (rest.length > LINE_BYTES_MAX) throw new BadBackup('This is no backup of Muster: a line of it is too long.');
  }
  if (rest.length > 0) yield rest;
}
