import { createHash, type Hash } from 'node:crypto';
import * as z from 'zod';
import type { Entry } from '../../store/port.ts';

/*
 * A backup is lines of JSON: a header, one line an entry in the order of the keys, and a trailer with their number and
 * the SHA-256 of all bytes before it. A file without a trailer is incomplete. The checksum detects damage; it does not
 * prove who made the file.
 */

export const BACKUP_FORMAT = 1;
/** The media type of a backup: one JSON text a line. */
export const BACKUP_MEDIA_TYPE = 'application/x-ndjson';
/** Larger than any record, so that a file that is no backup cannot fill memory. */
const LINE_BYTES_MAX = 8 * 1024 * 1024;

const backupHeaderSchema = z.looseObject({
  muster: z.literal('backup'),
  format: z.int().min(1),
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
/** The fields that identify a file, in any format. */
const beginningSchema = z.looseObject({ muster: z.unknown(), format: z.unknown() });
export type BackupHeader = z.infer<typeof backupHeaderSchema>;

const trailerSchema = z.looseObject({ entries: z.int().min(0), sha256: z.string() });
export type BackupTrailer = z.infer<typeof trailerSchema>;
/** The line in place of a trailer, which says why the service could not go on. */
const failureSchema = z.looseObject({ failed: z.string() });
const entrySchema = z.tuple([z.string().regex(/^[\x20-\x7e]+$/), z.string(), z.int().min(1)]);

/** The file is no backup, is damaged, or cannot be used by this program. The message is for the operator. */
export class BadBackup extends Error {
  override readonly name = 'BadBackup';
}

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;

/** Makes the lines of a backup, and its checksum. */
export class BackupWriter {
  readonly #hash: Hash = createHash('sha256');
  #entries = 0;

  header(header: BackupHeader): string {
    return this.#summed(line(header));
  }

  entries(entries: readonly Entry[]): string {
    this.#entries += entries.length;
    return this.#summed(entries.map(({ key, value, revision }) => line([key, value, revision])).join(''));
  }

  trailer(): string {
    return line({ entries: this.#entries, sha256: this.#hash.digest('hex') });
  }

  failure(why: string): string {
    return line({ failed: why });
  }

  #summed(text: string): string {
    this.#hash.update(text);
    return text;
  }
}

export type BackupPiece =
  { readonly header: BackupHeader } | { readonly entry: Entry } | { readonly trailer: BackupTrailer };

/**
 * Yields the header, each entry, and the trailer once the checksum has been verified.
 * @throws BadBackup at the first fault: everything that was yielded before must then be discarded
 */
export async function* readBackup(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<BackupPiece, void> {
  const reader = new BackupReader();
  for await (const line of linesOf(bytes)) yield reader.read(line);
  if (!reader.ended) {
    throw new BadBackup('The backup breaks off: its end is missing. Take another copy, or make another backup.');
  }
}

class BackupReader {
  ended = false;
  readonly #hash = createHash('sha256');
  #begun = false;
  #entries = 0;
  #keyBefore = '';

  read(bytes: Uint8Array): BackupPiece {
    if (this.ended) throw new BadBackup('The backup goes on after its end: it was altered.');
    const piece = this.#piece(bytes);
    // The trailer has the checksum of everything before it.
    if (!this.ended) this.#hash.update(bytes);
    return piece;
  }

  #piece(bytes: Uint8Array): BackupPiece {
    const json = parsed(bytes);
    if (!this.#begun) {
      this.#begun = true;
      return { header: headerFrom(json) };
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
    return { key, value, revision };
  }

  #trailerFrom(json: unknown): BackupTrailer {
    const failure = failureSchema.safeParse(json).data;
    if (failure) throw new BadBackup(`The service could not finish the backup: ${failure.failed}`);
    const trailer = trailerSchema.safeParse(json).data;
    if (!trailer) throw new BadBackup(`The backup is damaged after entry ${this.#entries}.`);
    if (trailer.entries !== this.#entries || trailer.sha256 !== this.#hash.digest('hex')) {
      throw new BadBackup('The backup was altered or damaged: its sum does not match. Take another copy.');
    }
    this.ended = true;
    return trailer;
  }
}

function headerFrom(json: unknown): BackupHeader {
  const { muster, format } = beginningSchema.safeParse(json).data ?? {};
  if (muster !== 'backup') throw new BadBackup('This is no backup of Muster.');
  if (typeof format === 'number' && format > BACKUP_FORMAT) {
    throw new BadBackup(`The backup was made by a newer Muster (format ${format}): use that version.`);
  }
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

/** Yields whole lines with their newlines. An incomplete last line is dropped: the file breaks off there. */
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
}
