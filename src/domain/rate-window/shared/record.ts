import type { Versioned } from '../../records/codec.ts';
import type { WindowRules } from './rules.ts';

/*
 * Replicas know this of an account's last minute. No instant in it rests on a wall clock: the record in the store
 * (record-codec.ts) dates each by a revision of the store, and this replica translates that to its own monotonic clock
 * (revision-clock.ts). Every instant below is of that clock.
 */

/**
 * An instant that all replicas understand: so many milliseconds before the commit of a revision, after it where they
 * are negative.
 */
export interface Stamp {
  readonly revision: number;
  readonly ageMs: number;
}

/** The revision of a stamp that no commit has dated yet: that of the record which is written with it. */
export const OWN_REVISION = 0;

/** Units of one replica that it spent within a bucket. */
export interface Spent {
  /** The replica that spent them; `UNKNOWN` is none. */
  readonly by: string;
  /** When the bucket begins by the wall clock of the spender: it tells the entries of one spender apart. */
  readonly bucket: number;
  readonly units: number;
  /** The units count from this instant, which is never before they were spent. */
  readonly at: number;
  /** Undefined until the units are put into a record. */
  readonly stamp?: Stamp | undefined;
}

/** Nobody knows who spent these units. */
export const UNKNOWN = '';

/** Units that a replica may admit without asking: an allotment ahead, or a charge for requests that wait. */
export interface Lease {
  /** Names the commit that put it; each replica counts its own. */
  readonly nonce: number;
  readonly units: number;
  /** From this instant the holder admits nothing from it; for others it is never before that of the holder. */
  readonly until: number;
  readonly stamp?: Stamp | undefined;
  /** Whether it is an allotment; false for a charge. */
  readonly isAllotment: boolean;
  /**
   * How many more units the holder of an allotment needs: a replica that returns some while much is left adds them
   * here.
   */
  readonly demand?: number | undefined;
}

export interface WindowRecord {
  /** In no order. */
  readonly spent: readonly Spent[];
  /** The last lease of each replica, by replica, settled or not, until it counts no more. */
  readonly leases: Readonly<Record<string, Lease>>;
  /** Allotments that their holders must return at once (`leaseName`). */
  readonly recalled: readonly string[];
}

/** A record as it was read. */
export interface Known extends Versioned<WindowRecord> {
  /** It cannot be parsed: it counts as `record` says, and whoever decides by it writes that. */
  readonly isUnreadable?: boolean;
}

export const NO_WINDOW: WindowRecord = { spent: [], leases: {}, recalled: [] };

export const bucketOf = (at: number, { bucketMs }: WindowRules): number => Math.floor(at / bucketMs) * bucketMs;

export const leaseName = (replicaId: string, nonce: number): string => `${replicaId}/${nonce}`;

export const hasLease = ({ leases }: WindowRecord, name: string): boolean =>
  Object.entries(leases).some(([replicaId, { nonce }]) => leaseName(replicaId, nonce) === name);

/** Whether anybody but this replica has spent or leased something. */
export const isShared = ({ spent, leases }: WindowRecord, replicaId: string): boolean =>
  spent.some(({ by }) => by !== replicaId) || Object.keys(leases).some((id) => id !== replicaId);

/**
 * Adds what this replica spent. Where a part of a bucket is in the record already, both count from the later part,
 * which this replica knows exactly; a bucket that comes again because the wall clock was set back stays apart.
 */
export function addSpent(
  some: readonly Spent[],
  more: readonly Spent[],
  { bucketMs }: Pick<WindowRules, 'bucketMs'>,
): readonly Spent[] {
  if (more.length === 0) return some;
  const all = [...some];
  for (const one of more) {
    const index = all.findIndex(
      ({ by, bucket, at }) => by === one.by && bucket === one.bucket && Math.abs(at - one.at) <= 2 * bucketMs,
    );
    const same = all[index];
    if (same) all[index] = { ...one, units: same.units + one.units };
    else all.push(one);
  }
  return all;
}

/** The record without what counts no more. An allotment stays recalled for as long as it is in the record. */
export function pruned({ spent, leases, recalled }: WindowRecord, now: number, rules: WindowRules): WindowRecord {
  const counting = Object.entries(leases).filter(([, { until }]) => now < until + rules.endedCountsMs);
  const allotments = new Set(
    counting.filter(([, { isAllotment }]) => isAllotment).map(([id, { nonce }]) => leaseName(id, nonce)),
  );
  return {
    spent: spent.filter(({ at }) => now < at + rules.othersCountMs),
    leases: Object.fromEntries(counting),
    recalled: recalled.filter((name) => allotments.has(name)),
  };
}

/** The record as it is to be written at this instant: what has no stamp is dated by the commit. */
export function stamped(record: WindowRecord, now: number): WindowRecord {
  // A younger age counts for longer: it is rounded down.
  const stampOf = (at: number): Stamp => ({ revision: OWN_REVISION, ageMs: Math.floor(now - at) });
  return withStamps(record, (stamp, at) => stamp ?? stampOf(at));
}

/** The record that was written, after its commit. */
export const committedAt = (record: WindowRecord, revision: number): WindowRecord =>
  withStamps(record, (stamp) => (stamp?.revision === OWN_REVISION ? { ...stamp, revision } : stamp));

function withStamps(
  record: WindowRecord,
  stampOf: (stamp: Stamp | undefined, at: number) => Stamp | undefined,
): WindowRecord {
  const withStamp = <T extends Spent | Lease>(one: T, at: number): T => {
    const stamp = stampOf(one.stamp, at);
    return stamp === one.stamp ? one : { ...one, stamp };
  };
  const leases = Object.entries(record.leases).map(([id, lease]) => [id, withStamp(lease, lease.until)] as const);
  return {
    ...record,
    spent: record.spent.map((one) => withStamp(one, one.at)),
    leases: Object.fromEntries(leases),
  };
}
