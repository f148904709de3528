import type { Entry, Put } from '../../../store/port.ts';
import { BadRecord, parseRecord, put, versioned } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';
import { SHARED_WINDOW, type StoredWindow } from '../../records/rate-records.ts';
import {
  bucketOf,
  NO_WINDOW,
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
 * `rate/<accountId>` on etcd: the replicas' shared knowledge of an account's last minute. Builds from before 0.1.0 said
 * the same by their wall clocks, too, and require a place for it: `spent` stays empty, and `until` is 0.
 */

type StoredAges = StoredWindow['ages'];

/** How this replica sees instants: `now` and `wall` are its monotonic and its wall clock at one moment. */
export interface View {
  readonly now: number;
  readonly wall: number;
  /** When this replica first knew of the revision, on its monotonic clock. */
  readonly instantOf: (revision: number) => number;
}

/** @throws BadRecord */
export function readWindow(entry: Entry, view: View, rules: WindowRules): Known {
  const { record: stored } = parseRecord(SHARED_WINDOW, entry);
  return versioned(entry, windowOf(stored, entry, view, rules));
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
    return { ...versioned(entry, { ...NO_WINDOW, spent: [all] }), isUnreadable: true };
  }
}

function windowOf(
  { from, holds, wanted, ages }: StoredWindow,
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
  for (const [replicaId, { nonce, units, slice, wants }] of Object.entries(holds)) {
    const end = ages.holds[replicaId];
    if (!end) throw new BadRecord(`The record ${key} has a lease without an end.`);
    const { at, stamp } = read(...end);
    leases[replicaId] = { nonce, units, until: at, stamp, isAllotment: slice, demand: wants };
  }
  const spent: Spent[] = [];
  for (const [by, rows] of Object.entries(ages.spent)) {
    for (const [counted = 0, ageMs = 0, units = 0, buckets = 0] of rows) {
      spent.push({ by, bucket: from + buckets * bucketMs, units, ...read(counted, ageMs) });
    }
  }
  return { spent, leases, recalled: wanted };
}

/** The write of a record whose instants have stamps; those of `OWN_REVISION` are dated by the commit. */
export function putWindow(
  accountId: string,
  { spent, leases, recalled }: WindowRecord,
  { bucketMs }: WindowRules,
): Put {
  let base = Number.POSITIVE_INFINITY;
  for (const { stamp } of [...spent, ...Object.values(leases)]) {
    if (stamp && stamp.revision !== OWN_REVISION) base = Math.min(base, stamp.revision);
  }
  const counted = (stamp: Stamp | undefined): [number, number] => {
    const { revision, ageMs } = stamp ?? { revision: OWN_REVISION, ageMs: 0 };
    return [revision === OWN_REVISION ? OWN_REVISION : revision - base + 1, ageMs];
  };
  const from = Math.min(...spent.map(({ bucket }) => bucket));
  const holds: Record<string, StoredWindow['holds'][string] & { readonly until: 0 }> = {};
  const ends: StoredAges['holds'] = {};
  for (const [replicaId, { nonce, units, isAllotment, demand, stamp }] of Object.entries(leases)) {
    holds[replicaId] = { nonce, units, until: 0, slice: isAllotment, wants: demand };
    ends[replicaId] = counted(stamp);
  }
  const spentBy: Record<string, number[][]> = {};
  for (const { by, bucket, units, stamp } of spent) {
    (spentBy[by] ??= []).push([...counted(stamp), units, (bucket - from) / bucketMs]);
  }
  return put(KEYS.rateWindow(accountId), {
    from: Number.isFinite(from) ? from : 0,
    spent: [],
    holds,
    wanted: [...recalled],
    ages: { base: Number.isFinite(base) ? base : 0, spent: spentBy, holds: ends },
  } satisfies StoredWindow);
}
