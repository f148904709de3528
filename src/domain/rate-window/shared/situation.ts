import type { OwnLeases } from './own-lease.ts';
import type { OwnCount } from './own-usage.ts';
import type { WindowRecord } from './record.ts';

/** Everything that a replica decides from. */
export interface Situation {
  readonly record: WindowRecord;
  /** The record must be written as it counts here: it was damaged, or a wrong clock wrote it. */
  readonly mustWrite: boolean;
  readonly replicaId: string;
  readonly leases: OwnLeases;
  /** The units that this replica admitted, by its own memory. */
  readonly own: OwnCount;
  /** The monotonic clock, as for every instant in the record. */
  readonly now: number;
  /** Requests that wait; 0 when only the own lease is to be settled. */
  readonly waiting: number;
  /** Allotments of others that are recalled, by name, with the instant from which no answer is expected any more. */
  readonly recallDeadlines: ReadonlyMap<string, number>;
  /** The own allotment must be returned: others recall it, or the replica stops. */
  readonly mustReturn: boolean;
  /** The replica stops: it takes no allotment any more. */
  readonly isStopping: boolean;
  /** Commits of this replica for the account within the last minute, since more than 200 have been left. */
  readonly writes: number;
  /** How long a charge may take until it is answered. */
  readonly chargeMs: number;
  /** Until this instant other replicas have their turn to charge. */
  readonly yieldsUntil: number;
}
