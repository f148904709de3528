import * as z from 'zod';
import { record, type RecordOf } from './registry.ts';
import { instant } from './shapes.ts';

/* The store itself: its format, its leader, its history. */

/** The format of all records together. A change that an older program could not live with raises it (format.ts). */
export const FORMAT = 1;

const since = z.looseObject({ at: instant });

export const storeRecords = {
  format: record('format', {
    schema: z.looseObject({
      format: z.int().min(1),
      /**
       * Tells this store from every other one (A14). Absent in a store that only a version before this field has
       * started on.
       */
      storeId: z.string().min(1).optional(),
    }),
    writeClass: 'vital',
    backup: 'left out',
    holds: 'format of all records (a newer one is refused), id of the store',
  }),
  /** People see it; its revision fences every write of the leader. */
  leader: record('leader', {
    schema: z.looseObject({ replicaId: z.string(), since: instant }),
    writeClass: 'vital',
    backup: 'left out',
    holds: 'held by the leader; its revision is the fencing token',
  }),
  pin: record('pin/<pinId>', {
    schema: since,
    writeClass: 'vital',
    backup: 'left out',
    holds: 'held while a revision is read: the history is not compacted past it',
  }),
  /** A service refuses to start on a store that a restore left half written. */
  restoring: record('restoring', {
    schema: since,
    writeClass: 'vital',
    backup: 'left out',
    holds: 'there while a restore is under way',
  }),
  /** A replica writes it when it claims a compaction. */
  compaction: record('compaction', {
    schema: z.looseObject({ at: instant, revision: z.int().min(0) }),
    writeClass: 'vital',
    backup: 'left out',
    holds: 'the last compaction: when, and the revision then',
  }),
  /** The last backup that was sent whole. */
  lastBackup: record('last-backup', {
    schema: z.looseObject({ at: instant }),
    writeClass: 'upkeep',
    backup: 'left out',
    holds: 'when the store was as the last backup has it; quiet',
  }),
  /** Absent until the leader has noted what was so already: no entry tells of that. */
  telling: record('telling', {
    schema: z.looseObject({ at: instant }),
    writeClass: 'upkeep',
    backup: 'kept',
    holds: 'since when transitions are told; quiet',
  }),
};
export type CompactionRecord = RecordOf<typeof storeRecords.compaction>;
