import type { Room } from './room.ts';

/** `by action`: the mutation that writes the record has the class (domain/mutation/action-rooms.ts). */
export type RecordRoom = Room | 'by action';

/**
 * The class of every record that Muster writes, by its key; `*` stands for one part of it. A commit without a mutation
 * has the strictest class of the records that it puts.
 */
export const RECORD_ROOMS: Readonly<Record<string, RecordRoom>> = {
  'd/a/*': 'by action',
  'd/a/*/key/*': 'by action',
  'd/a/*/app/*': 'by action',
  'd/a/*/otel': 'by action',
  'd/a/*/tally': 'by action',
  'key/*': 'by action',
  'cred/*': 'by action',
  'past/*/*': 'by action',
  'refused/*/*': 'by action',
  'audit/*/*': 'by action',
  'life/*/*': 'by action',
  'life/*/*/*': 'by action',
  'idem/*/answer/*': 'by action',
  'idem/*/slot/*': 'by action',
  'purge/*': 'by action',

  // A daemon's own state, which it may write as often as it likes.
  'ack/*/*': 'growth',
  'review/*/*/*': 'growth',
  'reviews/*/*': 'growth',

  // One record an account, app, day or block, or one in all.
  'd/a/*/seen': 'upkeep',
  'd/day': 'upkeep',
  'seal/*/*': 'upkeep',
  'ledger/*/*/*': 'upkeep',
  metered: 'upkeep',
  prices: 'upkeep',
  'kubernetes/*': 'upkeep',
  rewrapped: 'upkeep',

  // Without these no replica serves, nothing is compacted, and no request is admitted.
  format: 'vital',
  leader: 'vital',
  'replica/*': 'vital',
  'pin/*': 'vital',
  'rate/*': 'vital',
  'rate-ages/*/*': 'vital',
  compaction: 'vital',
  'd/keys': 'vital',
  restoring: 'vital',
  // Written by what removes other records: the end of the audit's retention, and of a purge.
  'chain/*': 'vital',
  'purged/*': 'vital',
};

interface Part {
  readonly named: Map<string, Part>;
  any: Part | undefined;
  room: RecordRoom | undefined;
}

const newPart = (): Part => ({ named: new Map(), any: undefined, room: undefined });

const ROOTS = newPart();
for (const [pattern, room] of Object.entries(RECORD_ROOMS)) {
  let part = ROOTS;
  for (const name of pattern.split('/')) {
    const next = (name === '*' ? part.any : part.named.get(name)) ?? newPart();
    if (name === '*') part.any = next;
    else part.named.set(name, next);
    part = next;
  }
  part.room = room;
}

/** The class of the record at a key; undefined where the table has none. */
export function roomOfKey(key: string): RecordRoom | undefined {
  let part: Part | undefined = ROOTS;
  for (const name of key.split('/')) part = part?.named.get(name) ?? part?.any;
  return part?.room;
}
