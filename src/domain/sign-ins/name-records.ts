import { createHmac } from 'node:crypto';
import type * as z from 'zod';
import type { Entry } from '../../store/port.ts';
import { absent, BadRecord, parseRecord, versioned, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { SIGN_IN_NAMES_PER_RECORD, SIGN_IN_NAMES_RECORDS } from '../records/user-records.ts';
import { FAILURES_MAX, type Failures } from './failures.ts';

/*
 * Failures are counted by the keyed hash of a name, whether somebody has the name or not: what strangers write is of a
 * fixed size, and tells nobody which names there are. A record holds so many names, 8 bytes each: the count in steps of
 * 1/256, and the instant.
 */

/** The counted names of the installation; two of which share a count at random. */
const NAMES = SIGN_IN_NAMES_RECORDS * SIGN_IN_NAMES_PER_RECORD;
const BYTES = 8;
const STEPS = 256;

/** The number under which a name is counted. */
export function numberOf(key: Buffer, name: string): number {
  return createHmac('sha256', key).update(name).digest().readUInt32BE(0) % NAMES;
}
export const recordOf = (number: number): number => Math.floor(number / SIGN_IN_NAMES_PER_RECORD);

/** The failures of the names of one record; its writes are its own until they are committed. */
export class NameRecord {
  readonly #bytes: Buffer;
  readonly #added: object;

  /** @param added the fields that a later version has added */
  constructor(bytes: Buffer = Buffer.alloc(SIGN_IN_NAMES_PER_RECORD * BYTES), added: object = {}) {
    this.#bytes = bytes;
    this.#added = added;
  }

  get(number: number): Failures {
    const from = (number % SIGN_IN_NAMES_PER_RECORD) * BYTES;
    return { count: this.#bytes.readUInt16BE(from) / STEPS, at: this.#bytes.readUIntBE(from + 2, 6) };
  }

  /** Rounds up: what was counted is never forgotten by its writing. */
  set(number: number, { count, at }: Failures): void {
    const from = (number % SIGN_IN_NAMES_PER_RECORD) * BYTES;
    this.#bytes.writeUInt16BE(Math.min(FAILURES_MAX * STEPS, Math.ceil(count * STEPS)), from);
    this.#bytes.writeUIntBE(at, from + 2, 6);
  }

  copy(): NameRecord {
    return new NameRecord(Buffer.from(this.#bytes), this.#added);
  }

  toRecord(): z.infer<typeof KEYS.signInNames.schema> {
    return { ...this.#added, failures: this.#bytes.toString('base64') };
  }
}

/** A record that cannot be read is written anew: else nobody of its names would sign in any more. */
export function readNames(record: number, entry: Entry | undefined): Versioned<NameRecord> {
  const key = KEYS.signInNames(record);
  if (!entry) return absent(key, new NameRecord());
  try {
    const { failures, ...added } = parseRecord(KEYS.signInNames, entry).record;
    return versioned(entry, new NameRecord(Buffer.from(failures, 'base64'), added));
  } catch (error) {
    if (error instanceof BadRecord) return versioned(entry, new NameRecord());
    throw error;
  }
}
