import type * as z from 'zod';
import type { Entry } from '../../store/port.ts';

/** A record as it was read, with the revision that a commit may expect. */
export interface Versioned<T> {
  readonly record: T;
  readonly revision: number;
}

/**
 * The stored text does not have the record's shape: it has a newer format, or is damaged. The message names the key and
 * never the content.
 */
export class BadRecord extends Error {
  override readonly name = 'BadRecord';
}

/** @throws BadRecord where the entry is no JSON of the schema's shape */
export function parseRecord<T>(schema: z.ZodType<T>, entry: Entry): Versioned<T> {
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
  return { record: parsed.data, revision: entry.revision };
}

/**
 * The write that puts a record as JSON. The order of its fields is that of the object: the stored bytes depend on it.
 */
export const put = (key: string, record: object): { put: string; value: string } => ({
  put: key,
  value: JSON.stringify(record),
});
