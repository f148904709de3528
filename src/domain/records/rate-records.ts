import * as z from 'zod';
import { LIMITS } from '../limits.ts';
import { record } from './registry.ts';
import { instant } from './shapes.ts';

/* The windows of the rate limit. They touch neither `head` nor the audit. */

/** The window of an account on the embedded store. */
const keptWindowSchema = z.looseObject({
  /** The boot that the instants below are of; absent where the system does not tell boots apart. */
  boot: z.string().optional(),
  /** The units spent before this record was written: the instant of the first, then each one's distance to the next. */
  spent: z.array(instant).max(LIMITS.requestsPerWindowMax),
  /** The units that may have been spent since, up to an instant. */
  slice: z.looseObject({ units: z.int().min(0), until: instant }).optional(),
});
export const KEPT_WINDOW = { schema: keptWindowSchema };
export type KeptRecord = z.infer<typeof keptWindowSchema>;

const ROWS_MAX = 10_000;
const holdSchema = z.looseObject({
  nonce: z.int().min(0),
  units: z.int().min(0),
  slice: z.boolean(),
  wants: z.int().min(0).optional(),
});
/** The units of a busy account are hundreds of rows, read many times a second: one loop checks them all. */
const rowsOf = (length: number, unitsAt: number) =>
  z.custom<readonly (readonly number[])[]>(
    (rows) =>
      Array.isArray(rows) &&
      rows.length <= ROWS_MAX &&
      rows.every(
        (row: unknown) =>
          Array.isArray(row) &&
          row.length === length &&
          row.every((value) => Number.isSafeInteger(value)) &&
          (row[unitsAt] as number) >= 1,
      ),
  );
const agesSchema = z.looseObject({
  /** The revision that the numbers below count from: 1 is `base` itself, 0 the revision of this record. */
  base: z.int().min(0),
  /**
   * The spends by replica: revision, age in ms at its commit, units, and the bucket as the number of buckets since
   * `from`.
   */
  spent: z.record(z.string(), rowsOf(4, 2)),
  /** The end of each replica's lease, as revision and age. */
  holds: z.record(z.string(), z.tuple([z.int().min(0), z.int()])),
});
/**
 * The window of an account on etcd. `ages` dates each instant by a revision of the store. The names are older than the
 * words of the code: `holds` are leases, `slice` marks an allotment, `wants` is its demand, `wanted` is what is
 * recalled.
 */
const sharedWindowSchema = z.looseObject({
  /** The first bucket, by the wall clock of its spender, in milliseconds since 1970. */
  from: z.int().min(0),
  holds: z.record(z.string(), holdSchema),
  wanted: z.array(z.string()).max(1000),
  ages: agesSchema,
});
export const SHARED_WINDOW = { schema: sharedWindowSchema };
export type StoredWindow = z.infer<typeof sharedWindowSchema>;

/** The beginning of the keys of windows, questions and answers, for one watch on all. */
export const RATE_PREFIX = 'rate';
/** An answer tells the ages of so many revisions at most. */
export const TABLE_ROWS_MAX = 1000;

export const rateRecords = {
  rateWindow: record('rate/<accountId>', {
    schema: z.union([keptWindowSchema, sharedWindowSchema]),
    writeClass: 'vital',
    backup: 'left out',
    holds: 'the shared rate window; embedded, what was spent and the slice; quiet',
  }),
  /** It is gone as soon as the answers are read, within seconds. */
  rateQuestion: record('rate-ages/<replicaId>/<nonce>', {
    schema: z.looseObject({}),
    writeClass: 'vital',
    backup: 'left out',
    holds: 'a question of a replica for the ages of revisions; transient; quiet',
  }),
  rateAnswer: record('rate-ages/<replicaId>/<nonce>/<answerer>', {
    schema: z.looseObject({
      /** The ages of revisions that another replica knows. */
      revisions: z.array(z.tuple([z.int().min(0), z.int().min(0)])).max(TABLE_ROWS_MAX),
      /** Its wall clock. */
      clock: z.int().min(0),
    }),
    writeClass: 'vital',
    backup: 'left out',
    holds: 'an answer to it; transient; quiet',
  }),
};
