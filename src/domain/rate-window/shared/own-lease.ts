import type { Versioned } from '../../records/codec.ts';
import type { ClockInterval } from './clock-interval.ts';
import { addSpent, bucketOf, type Lease, type Spent, type WindowRecord } from './record.ts';
import type { WindowRules } from './rules.ts';

/** A lease as its holder sees it. */
export interface OwnLease extends Lease {
  /** From this instant of its own clock the holder admits nothing from it. */
  readonly usedUntil: number;
  /** Units that were admitted from it and are not in the record yet: by bucket, and their sum. */
  readonly spends: Map<number, number>;
  spent: number;
}

/** A lease whose commit has no answer yet: it took effect, or will, or never will, at this revision of the record. */
export interface Unanswered {
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
export function usableUnits({ lease, unanswered }: OwnLeases, now: ClockInterval): number {
  return lease && unanswered.length === 0 && now.latest < lease.usedUntil ? lease.units - lease.spent : 0;
}

/** Spends one unit, in the bucket of the latest time that it may be: it counts too long rather than too short. */
export function spendUnit(lease: OwnLease, now: ClockInterval, rules: WindowRules): void {
  const at = bucketOf(now.latest, rules);
  lease.spends.set(at, (lease.spends.get(at) ?? 0) + 1);
  lease.spent += 1;
}

const spendsOf = (lease: OwnLease | undefined): readonly Spent[] =>
  lease ? [...lease.spends].map(([at, units]) => ({ at, units })) : [];

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
export function settled(record: WindowRecord, replicaId: string, lease: OwnLease | undefined): WindowRecord {
  const { [replicaId]: recorded, ...leases } = record.leases;
  // A recorded lease that this replica does not know as its own counts in full.
  const foreign =
    recorded && recorded.nonce !== lease?.nonce && recorded.units > 0
      ? [{ at: recorded.until, units: recorded.units }]
      : [];
  return { ...record, spent: addSpent(record.spent, [...foreign, ...spendsOf(lease)]), leases };
}
