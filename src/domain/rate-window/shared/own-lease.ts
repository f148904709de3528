import type { Versioned } from '../../records/codec.ts';
import { addSpent, UNKNOWN, type Lease, type Spent, type WindowRecord } from './record.ts';
import type { WindowRules } from './rules.ts';

interface OwnSpends {
  readonly bucket: number;
  units: number;
  /** When the last of them was spent. */
  at: number;
}

/** A lease as its holder sees it. */
export interface OwnLease extends Lease {
  /** From this instant the holder admits nothing from it. */
  readonly usedUntil: number;
  /** Units that were admitted from it and are not in the record yet, by bucket, the latest last; and their sum. */
  readonly spends: OwnSpends[];
  spent: number;
}

/** A lease whose commit has no answer yet: it took effect, or will, or never will, at this revision of the record. */
interface Unanswered {
  readonly lease: OwnLease;
  readonly expects: number;
}

/** A replica's knowledge of its own leases on one account. */
export interface OwnLeases {
  readonly lease: OwnLease | undefined;
  /** Oldest first. At most one of those that expect the same revision took effect. */
  readonly unanswered: readonly Unanswered[];
}

export const NO_LEASES: OwnLeases = { lease: undefined, unanswered: [] };

/** More cannot be waiting for an answer. If an older one took effect, nothing is ever admitted from it. */
const UNANSWERED_MAX = 20;

export const withSent = ({ lease, unanswered }: OwnLeases, one: Unanswered): OwnLeases => ({
  lease,
  unanswered: [...unanswered.slice(1 - UNANSWERED_MAX), one],
});

/** After a conflict: the commit did not take effect, and never will. */
export const withoutConflicted = ({ lease, unanswered }: OwnLeases, nonce: number): OwnLeases => ({
  lease,
  unanswered: unanswered.filter((one) => one.lease.nonce !== nonce),
});

/**
 * How many units may be admitted without asking. There are none while a commit is unanswered: it may have settled the
 * lease, or may still do so, with what was spent until it was sent; a unit that is spent later would be in no record.
 */
export function usableUnits({ lease, unanswered }: OwnLeases, now: number): number {
  return lease && unanswered.length === 0 && now < lease.usedUntil ? lease.units - lease.spent : 0;
}

/**
 * The leases after the machine stood still: for how long is unknown to the own clock, so that nothing more is admitted
 * from them. What was not spent can still be returned.
 */
export function withoutUse({ lease, unanswered }: OwnLeases): OwnLeases {
  const unused = (one: OwnLease): OwnLease => ({ ...one, usedUntil: Number.NEGATIVE_INFINITY });
  return {
    lease: lease && unused(lease),
    unanswered: unanswered.map((one) => ({ ...one, lease: unused(one.lease) })),
  };
}

/** Spends one unit, which is recorded under this bucket. */
export function spendUnit(lease: OwnLease, now: number, bucket: number, { bucketMs }: WindowRules): void {
  const last = lease.spends.at(-1);
  // A wall clock that was set back comes to the same bucket again.
  if (last?.bucket === bucket && now - last.at <= bucketMs) {
    last.units += 1;
    last.at = now;
  } else lease.spends.push({ bucket, units: 1, at: now });
  lease.spent += 1;
}

const spendsOf = (lease: OwnLease | undefined, by: string): readonly Spent[] =>
  (lease?.spends ?? []).map((spends) => ({ by, ...spends }));

/** The own leases by a record that was read: after a lost answer the nonce tells whether the commit took effect. */
export function reconciled(own: OwnLeases, known: Versioned<WindowRecord>, replicaId: string): OwnLeases {
  const recorded = known.record.leases[replicaId];
  // Others may have transferred units to it.
  const asRecorded = (lease: OwnLease): OwnLease =>
    recorded && recorded.units !== lease.units ? { ...lease, units: recorded.units } : lease;
  const committed = own.unanswered.find(({ lease }) => lease.nonce === recorded?.nonce);
  if (committed) return { lease: asRecorded(committed.lease), unanswered: [] };
  // Once the record has moved on, a commit that expects an older revision cannot take effect any more.
  const unanswered = own.unanswered.filter(({ expects }) => expects >= known.revision);
  if (!own.lease) return { lease: undefined, unanswered };
  if (own.lease.nonce === recorded?.nonce) return { lease: asRecorded(own.lease), unanswered };
  // The store does not know this lease: it was pruned as too old, or this is another store. Nothing more is admitted
  // from it, and what was admitted is still reported.
  return { lease: { ...own.lease, units: own.lease.spent }, unanswered };
}

/** The record with the units that were admitted here, by bucket, in place of the lease that they came from. */
export function settled(
  record: WindowRecord,
  replicaId: string,
  lease: OwnLease | undefined,
  rules: WindowRules,
): WindowRecord {
  const { [replicaId]: recorded, ...leases } = record.leases;
  const spent = addSpent(record.spent, spendsOf(lease, replicaId), rules);
  if (!recorded || recorded.nonce === lease?.nonce || recorded.units === 0) return { ...record, spent, leases };
  // A recorded lease that this replica does not know as its own counts in full.
  const { units, until: at, stamp } = recorded;
  // Nobody adds to these units, so that any bucket will do.
  const foreign = { by: UNKNOWN, bucket: record.spent.at(-1)?.bucket ?? 0, units, at, stamp };
  return { ...record, spent: [...spent, foreign], leases };
}
