import * as z from 'zod';
import type { StreamedEntry, StreamPlace } from '../audit/following/stream.ts';
import { eventOf, type MusterEvent } from '../events/event.ts';
import { ocsfOf, unreadable } from '../events/ocsf.ts';
import { BadRecord, parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';

/* An entry of the audit as a line of JSON: an event of OCSF, and in `unmapped` the event itself with its place. */

const placed = z.object({
  metadata: z.object({ sequence: z.int() }),
  unmapped: z.object({ store: z.string(), entry: z.string() }),
});

/** @returns the line, without its end */
export function lineOf(entry: StreamedEntry, storeId: string, accountName: string | undefined): string {
  const { accountId, suffix, revision, key, stored } = entry;
  const place = { store: storeId, entry: key };
  let event: MusterEvent;
  let action: string;
  try {
    const { record } = parseRecord(KEYS.audit, stored);
    [event, action] = [eventOf({ accountId, suffix, accountName }, record), record.action];
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
    // Readers of the lines have to learn that it is there, and it must not hold up those after it.
    return JSON.stringify({ ...unreadable(suffix, revision), unmapped: place });
  }
  return JSON.stringify({ ...ocsfOf(event, action, revision), unmapped: { ...place, event } });
}

/** The place that a line tells; undefined where it is of another store, or no line of an audit. */
export function placeOfLine(line: string, storeId: string): StreamPlace | undefined {
  try {
    const { metadata, unmapped } = placed.parse(JSON.parse(line));
    return unmapped.store === storeId ? { revision: metadata.sequence, key: unmapped.entry } : undefined;
  } catch {
    return undefined;
  }
}

/** Tells whether a place is after another one, in the order of the store. */
export const isLater = (one: StreamPlace, other: StreamPlace): boolean =>
  one.revision > other.revision || (one.revision === other.revision && one.key > other.key);
