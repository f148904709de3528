import type * as z from 'zod';
import {
  absentSnapshot,
  committedSnapshot,
  snapshotOf,
  type Entry,
  type Key,
  type Put,
  type Snapshot,
} from '../../store/port.ts';

/**
 * A record as it was read, with the snapshot of its key: a plan judges the record, and its commit expects the snapshot.
 */
export interface Versioned<T> extends Snapshot {
  readonly record: T;
}

/** The record that an entry of the store holds, with the entry's snapshot. */
export const versioned = <T>(entry: Entry, record: T): Versioned<T> => ({ ...snapshotOf(entry), record });

/** The record that counts while the store has no such key. */
export const absent = <T>(key: Key, record: T): Versioned<T> => ({ ...absentSnapshot(key), record });

/** Another record in the place of what was read, for the snapshot of the same key. */
export const withRecord = <T>({ key, revision }: Snapshot, record: T): Versioned<T> =>
  versioned({ key, revision, value: '' }, record);

/** A record that this process has just committed under a key. */
export const justCommitted = <T>(
  key: Key,
  record: T,
  result: { readonly outcome: 'committed'; readonly revision: number },
): Versioned<T> => ({ ...committedSnapshot(key, result), record });

/**
 * The stored text does not have the record's shape: it has a newer format, or is damaged. The message names the key and
 * never the content.
 */
export class BadRecord extends Error {
  override readonly name = 'BadRecord';
}

/**
 * @param kind the kind of record that the entry is of
 * @throws BadRecord where the entry is no JSON of its shape
 */
export function parseRecord<T>({ schema }: { readonly schema: z.ZodType<T> }, entry: Entry): Versioned<T> {
  let json: unknown;
  try {
    json = JSON.parse(entry.value);
  } catch {
    throw new BadRecord(`The record ${entry.key} is not JSON.`);
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    const places = parsed.error.issues.map((issue) => issue.path.join('.') || '(whole)').join(', ');
    throw new BadRecord(`The record ${entry.key} does not have the expected shape at: ${places}.`);
  }
  return versioned(entry, parsed.data);
}

/** `put` changes nothing of what it is given. */
type Unchanging<T> = unknown extends T ? T : { readonly [K in keyof T]: Unchanging<T[K]> };

/**
 * The write that puts a record as JSON. The order of its fields is that of the object: the stored bytes depend on it.
 * @param key made by the declaration of the kind, so that its shape is known: the key of an entry that was read is not
 */
export const put = <T>(key: unknown extends T ? never : Key<T>, record: NoInfer<Unchanging<T>> & object): Put => ({
  put: key,
  value: JSON.stringify(record),
});

/** The record of an entry that is about to be written anew: none where there is no entry, or it cannot be read. */
export function replaceable<T>(
  kind: { readonly schema: z.ZodType<T> },
  key: Key,
  entry: Entry | undefined,
): Versioned<T | undefined> {
  if (!entry) return absent(key, undefined);
  try {
    return parseRecord(kind, entry);
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
    return versioned(entry, undefined);
  }
}
