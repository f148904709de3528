import type * as z from 'zod';
import type { Entry } from '../../store/port.ts';

/** A record as it was read: what it says, and the revision a commit may expect. */
export interface Versioned<T> {
  readonly record: T;
  readonly revision: number;
}

/** The stored text does not have the record's shape: a newer format, or damage. Names the key, never the content. */
export class BadRecord extends Error {
  override readonly name = 'BadRecord';
}

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

export const put = (key: string, record: object): { put: string; value: string } => ({
  put: key,
  value: JSON.stringify(record),
});
