import type { Expectation, Store } from '../../store/port.ts';
import type { Log } from '../../log.ts';
import type { Clock } from '../../time/clock.ts';
import type { RandomSource } from '../credentials/random-ids.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import { BadRecord } from '../records/codec.ts';

/*
 * The clean-up removes expired records. No rule relies on it (A11): every reader of such a record checks its time
 * itself. So the clean-up may be late, stop anywhere, and leave records that are in use.
 */

/** Records go this long after they expire: the leader's clock may be ahead of a replica's that still goes by them. */
export const EXPIRY_MARGIN_MS = 300_000;

export interface SweepDeps {
  readonly store: Store;
  readonly memory: FleetMemory;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
  readonly auditRetentionDays: number;
  /** The fence of the leader's term: every commit expects it. */
  readonly fence: readonly Expectation[];
}

/** The result of a bounded piece of a pass over all records of a kind. */
interface Piece {
  /** How many were removed. */
  readonly gone: number;
  /** The start of the next piece; undefined when the pass is over. */
  readonly next: string | undefined;
}

/**
 * Removes the expired records of one kind: does one piece of a pass, which begins where `from` says.
 * @throws StoreUnavailable; the piece may then be repeated from the same place
 */
export type Sweep = (deps: SweepDeps, from: string | undefined, signal: AbortSignal) => Promise<Piece>;

/** Work on one record: undefined where it is damaged, which must not keep a sweep from the others. */
export async function unlessDamaged<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof BadRecord) return undefined;
    throw error;
  }
}
