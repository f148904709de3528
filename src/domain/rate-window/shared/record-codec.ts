import * as z from 'zod';
import type { Entry } from '../../../store/port.ts';
import { BadRecord, parseRecord, put, versioned } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';
import {
  bucketOf,
  NO_WINDOW,
  OLDER,
  OWN_REVISION,
  UNKNOWN,
  type Known,
  type Lease,
  type Spent,
  type Stamp,
  type WindowRecord,
} from './record.ts';
import { LEASE_AHEAD_MS_MAX, type WindowRules } from './rules.ts';

/*
 * `rate/<accountId>` on etcd: the replicas' shared knowledge of an account's last minute. It says everything twice.
 * `ages` dates each instant by a revision of the store. `from`, `spent` and the `until` of each hold are the same by
 * the wall clock of whoever spent or leased: older versions know these alone, and drop `ages` with the record that
 * they write. Their names are older than the words of the code: `holds` are leases, `slice` marks an allotment, `wants`
 * is its demand, `wanted` is what is recalled. Once every replica knows `rate-window-ages` (record-changes.ts), a later
 * version may leave the wall clock out.
 */

const ROWS_MAX = 10_000;
const holdSchema = z.looseObject({
  nonce: z.int().min(0),
  units: z.int().min(0),
  /** Whole milliseconds, but for older versions, which wrote fractions. */
  until: z.number().min(0),
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
  /** By replica: revision, age in ms at its commit, units, and the bucket as the number of buckets since `from`. */
  spent: z.record(z.string(), rowsOf(4, 2)),
  /** By replica: the end of its lease, as revision and age. */
  holds: z.record(z.string(), z.tuple([z.int().min(0), z.int()])),
});
export const sharedWindowSchema = z.looseObject({
  /** The instant of the wall clock that `spent` counts from, in milliseconds. */
  from: z.int().min(0),
  /** Milliseconds since `from`, and units. */
  spent: rowsOf(2, 1),
  holds: z.record(z.string(), holdSchema),
  wanted: z.array(z.string()).max(1000),
  ages: agesSchema.optional(),
});
type StoredWindow = z.infer<typeof sharedWindowSchema>;
type StoredAges = z.infer<typeof agesSchema>;

/** How this replica sees instants: `now` and `wall` are its monotonic and its wall clock at one moment. */
export interface View {
  readonly now: number;
  readonly wall: number;
  /** When this replica first knew of the revision, on its monotonic clock. */
  readonly instantOf: (revision: number) => number;
}

/** @throws BadRecord */
export function readWindow(entry: Entry, view: View, rules: WindowRules): Known {
  const { record: stored } = parseRecord(sharedWindowSchema, entry);
  return stored.ages
    ? versioned(entry, byRevisions(stored, stored.ages, entry, view, rules))
    : byWallClock(stored, entry, view, rules);
}

/**
 * Reads a record; one that cannot be parsed stands for a window that was spent whole just now, since nobody can tell
 * what it said.
 */
export function readWindowOrFull(entry: Entry, view: View, rules: WindowRules): Known {
  try {
    return readWindow(entry, view, rules);
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
    const all = { by: UNKNOWN, bucket: bucketOf(view.wall, rules), units: rules.requestsMax, at: view.now };
    return { ...versioned(entry, { ...NO_WINDOW, spent: [all] }), trouble: 'unreadable' };
  }
}

function leaseOf({ slice, wants, until, nonce, units }: StoredWindow['holds'][string]): Omit<Lease, 'until'> {
  return { nonce, units, wallUntil: Math.ceil(until), isAllotment: slice, demand: wants };
}

function byRevisions(
  { from, holds, wanted }: StoredWindow,
  ages: StoredAges,
  { key, revision: written }: Entry,
  { instantOf }: View,
  { bucketMs }: WindowRules,
): WindowRecord {
  const read = (counted: number, ageMs: number): { readonly at: number; readonly stamp: Stamp } => {
    const revision = counted === OWN_REVISION ? written : ages.base + counted - 1;
    if (revision > written || revision < ages.base)
      throw new BadRecord(`The record ${key} speaks of a revision after its own.`);
    if (ageMs < -LEASE_AHEAD_MS_MAX) throw new BadRecord(`The record ${key} has an instant that is too far ahead.`);
    return { at: instantOf(revision) - ageMs, stamp: { revision, ageMs } };
  };
  const leases: Record<string, Lease> = {};
  for (const [replicaId, hold] of Object.entries(holds)) {
    const end = ages.holds[replicaId];
    if (!end) throw new BadRecord(`The record ${key} has a lease without an end.`);
    const { at, stamp } = read(...end);
    leases[replicaId] = { ...leaseOf(hold), until: at, stamp };
  }
  const spent: Spent[] = [];
  for (const [by, rows] of Object.entries(ages.spent)) {
    for (const [counted = 0, ageMs = 0, units = 0, buckets = 0] of rows) {
      spent.push({ by, bucket: from + buckets * bucketMs, units, ...read(counted, ageMs) });
    }
  }
  return { spent, leases, recalled: wanted };
}

/**
 * An older version wrote the record: its instants are read by the wall clocks, which then may differ by a second. One
 * that is further ahead comes from a wrong clock and counts as now, so that it has an end.
 */
function byWallClock(stored: StoredWindow, entry: Entry, { now, wall }: View, rules: WindowRules): Known {
  const { clocksDifferMs, bucketMs, othersCountMs, endedCountsMs, countsMs } = rules;
  const own = (instant: number): number => instant - wall + now;
  let isAhead = false;
  const sound = (at: number, latest: number): number => {
    isAhead ||= at > latest;
    return Math.min(at, latest);
  };
  const leases: Record<string, Lease> = {};
  for (const [replicaId, hold] of Object.entries(stored.holds)) {
    const end = sound(own(hold.until), now + rules.allotmentRecordedMs + 2 * clocksDifferMs);
    leases[replicaId] = { ...leaseOf(hold), until: end + clocksDifferMs - (endedCountsMs - countsMs) };
  }
  const spent = stored.spent.map(([since = 0, units = 0]): Spent => {
    const begun = sound(own(stored.from + since), now + 2 * clocksDifferMs);
    const at = begun + bucketMs + clocksDifferMs - (othersCountMs - countsMs);
    return { by: OLDER, bucket: bucketOf(stored.from + since, rules), units, at };
  });
  const record = { spent, leases, recalled: stored.wanted };
  return { ...versioned(entry, record), trouble: isAhead ? 'ahead' : undefined };
}

/** The write of a record whose instants have stamps; those of `OWN_REVISION` are dated by the commit. */
export function putWindow(
  accountId: string,
  { spent, leases, recalled }: WindowRecord,
  { bucketMs }: WindowRules,
): ReturnType<typeof put> {
  let base = Number.POSITIVE_INFINITY;
  for (const { stamp } of [...spent, ...Object.values(leases)]) {
    if (stamp && stamp.revision !== OWN_REVISION) base = Math.min(base, stamp.revision);
  }
  const counted = (stamp: Stamp | undefined): [number, number] => {
    const { revision, ageMs } = stamp ?? { revision: OWN_REVISION, ageMs: 0 };
    return [revision === OWN_REVISION ? OWN_REVISION : revision - base + 1, ageMs];
  };
  const buckets = new Map<number, number>();
  for (const { bucket, units } of spent) buckets.set(bucket, (buckets.get(bucket) ?? 0) + units);
  const from = Math.min(...buckets.keys());
  const holds: StoredWindow['holds'] = {};
  const ends: StoredAges['holds'] = {};
  for (const [replicaId, { nonce, units, wallUntil, isAllotment, demand, stamp }] of Object.entries(leases)) {
    holds[replicaId] = { nonce, units, until: wallUntil, slice: isAllotment, wants: demand };
    ends[replicaId] = counted(stamp);
  }
  const spentBy: Record<string, number[][]> = {};
  for (const { by, bucket, units, stamp } of spent) {
    (spentBy[by] ??= []).push([...counted(stamp), units, (bucket - from) / bucketMs]);
  }
  return put(KEYS.rateWindow(accountId), {
    from: Number.isFinite(from) ? from : 0,
    spent: [...buckets].sort(([one], [other]) => one - other).map(([bucket, units]) => [bucket - from, units]),
    holds,
    wanted: [...recalled],
    ages: { base: Number.isFinite(base) ? base : 0, spent: spentBy, holds: ends },
  } satisfies StoredWindow);
}
